# SPDX-License-Identifier: Apache-2.0
"""Inside of a virtual machine: a kernel that has locked itself up. There is no way back, so
this is the last of the checks."""
import os
import re

from inside import Inside, sources

LOCKDOWN = "/sys/kernel/security/lockdown"


class Lockdown(Inside):
    def lock(self, how):
        if not os.path.exists(LOCKDOWN):
            self.skipTest("no lockdown")
        with open(LOCKDOWN, "w", encoding="ascii") as f:
            f.write(how)

    def test_1_with_integrity_nothing_changes(self):
        """Secure Boot asks for this."""
        self.lock("integrity")
        daemon = self.collect("--trace", "page-cache,softirqs")
        self.wait_ticks(daemon)
        self.show(lockdown_integrity=self.health(daemon)["tasks"])
        self.assertEqual(self.health(daemon)["tasks"], sources()[0])

    def test_2_with_confidentiality_it_says_why_processes_come_from_proc(self):
        self.lock("confidentiality")
        daemon = self.collect()
        self.wait_ticks(daemon)
        self.show(lockdown_confidentiality=self.health(daemon)["tasks"])
        self.assertEqual(self.health(daemon)["tasks"], "proc")
        reasons = re.findall(r'msg="(no bpf-\w+: [^"]*)', daemon.log())
        self.show(lockdown_reason=" / ".join(reasons))
        self.assertEqual(len(reasons), 2)
