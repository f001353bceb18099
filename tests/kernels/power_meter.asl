// SPDX-License-Identifier: Apache-2.0
// A power meter of firmware (ACPI 6.4, 10.4), for Linux' driver acpi_power_meter. What it
// measures, in mW, is what was last written as its averaging interval, in ms: so a check
// inside of the machine chooses it.
DefinitionBlock ("", "SSDT", 2, "TWTEST", "TWMETER", 1)
{
	Scope (\_SB)
	{
		Device (PWR0)
		{
			Name (_HID, "ACPI000D")
			Name (_UID, 0)
			Name (MILW, 100000)
			// Measures; mW; input; 100 %; each 100 ms; intervals from 0 ms on.
			Name (CAPS, Package (14) { 1, 0, 0, 100000, 100, 0, 0xFFFFFFFF, 0, 0, 0,
				0, "emulated", "1", "tests" })

			Method (_STA, 0) { Return (0x0F) }
			Method (_PMC, 0) { Return (CAPS) }
			Method (_PMM, 0) { Return (MILW) }
			Method (_GAI, 0) { Return (MILW) }
			Method (_PAI, 1) { Store (Arg0, MILW) Return (0) }
			Method (_PMD, 0) { Return (Package (0) {}) }
		}
	}
}
