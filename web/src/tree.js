// SPDX-License-Identifier: Apache-2.0
// The workloads of a node as a tree: node, then pods, containers, VMs and cgroups, then their
// processes. Powers are in mW, dynamic and idle; null: unknown.

export const LEVELS = { pod: 'pod', vm: 'VM', container: 'container', cgroup: 'group' };
const NODE = 'node';
const RUNS_MAX = 60;

/** All power of the node; below 0: unknown. */
export function sum(w) {
	return w.dynamic === null ? -1 : w.dynamic + w.idle;
}

export const ORDERS = {
	// Idle power is the machine's. Unknown sorts below 0 W.
	power: (a, b) => (b.dynamic ?? -1) - (a.dynamic ?? -1),
	idle: (a, b) => (b.idle ?? -1) - (a.idle ?? -1),
	name: (a, b) => (a.key < b.key ? 1 : a.key > b.key ? -1 : 0),
};

function nameOf(level, name, detail, id) {
	if (name)
		return name;
	if (level === 'container' || level === 'vm')
		return id.length === 64 ? id.slice(0, 12) : id;
	return id || detail || '?';
}

export class Tree {
	constructor() {
		this.clear();
	}

	clear() {
		this.processes = new Map();
		this.groups = new Map();
		this.runs = new Map(); // serial -> W of the last slots
		this.runSlots = [];
		this.tick = this.newest = this.leftOut = 0;
	}

	/** Take an answer of /api/v1/live. False: it does not add up, so a whole one is needed. */
	take(answer) {
		if (answer.whole) {
			this.clear();
			// Those that were left out come once they have power.
			this.leftOut = answer.left_out;
		}
		const known = answer.node.sum.length > 0;
		for (const p of this.processes.values()) {
			p.dynamic = p.idle = known ? 0 : null;
			if (p.ended)
				this.processes.delete(p.serial);
		}
		for (const serial of answer.ended)
			this.processes.delete(serial);
		for (const [serial, parent, pid, name, dynamic, idle, ended] of answer.processes)
			this.processes.set(serial, {
				serial, parent, pid, name, key: name.toLowerCase(), level: 'process',
				dynamic, idle, ended: ended === 1,
			});
		this.groups.clear();
		for (const [serial, parent, level, name, detail, id, dynamic, idle, members] of answer.groups) {
			const shown = nameOf(level, name, detail, id);
			this.groups.set(serial, {
				serial, parent, level, name: shown, key: shown.toLowerCase(), detail, id,
				dynamic, idle, members,
			});
		}
		this.tick = answer.tick;
		this.newest = answer.newest;
		let living = 0;
		for (const p of this.processes.values())
			living += !p.ended;
		return living === answer.living || this.leftOut > 0;
	}

	/** Take the workloads of an answer of /api/v1/history. */
	takeHistory({ slots }) {
		for (const slot of slots) {
			this.runSlots.push(slot);
			if (this.runSlots.length > RUNS_MAX)
				this.runSlots.shift();
		}
		if (slots.length > 0)
			this.runs.clear();
	}

	/** W of a workload in the last slots. null: it was not among the largest, and is unknown. */
	run(serial) {
		let run = this.runs.get(serial);
		if (run === undefined) {
			run = this.runSlots.map((s) => s.watts[serial] ?? (s.others_at_most_watts === 0 ? 0 : null));
			this.runs.set(serial, run);
		}
		return run;
	}

	/**
	 * The rows to show, in order. options: { order: {by, down}, search, flat, open: Set of
	 * serials that are unfolded, nodeName, node: {dynamic, idle} }.
	 */
	rows({ order, search, flat, open, nodeName, node }) {
		const compare = ORDERS[order.by];
		const sorter = order.down ? compare : (a, b) => -compare(a, b);
		const wanted = search.trim().toLowerCase();
		const matches = (w) => w.key.includes(wanted) || String(w.pid ?? '').startsWith(wanted) ||
			(w.id ?? '').toLowerCase().includes(wanted) ||
			(w.detail ?? '').toLowerCase().includes(wanted);
		if (flat) {
			const found = wanted ? [...this.processes.values()].filter(matches)
				: [...this.processes.values()];
			return found.sort(sorter).map((w) => ({ w, depth: 1 }));
		}
		return this.nested({ sorter, wanted, matches, open, nodeName, node });
	}

	nested({ sorter, wanted, matches, open, nodeName, node }) {
		const children = new Map();
		const add = (w) => {
			const parent = this.groups.has(w.parent) ? w.parent : NODE;
			const of = children.get(parent);
			if (of)
				of.push(w);
			else
				children.set(parent, [w]);
		};
		// Of a search, the workloads that match, those above them, and all below them.
		const kept = new Set();
		if (wanted) {
			const keepUp = (w) => {
				while (w && !kept.has(w.serial)) {
					kept.add(w.serial);
					w = this.groups.get(w.parent);
				}
			};
			const found = (w) => w !== undefined && (matches(w) || found(this.groups.get(w.parent)));
			for (const map of [this.groups, this.processes])
				for (const w of map.values())
					if (found(w))
						keepUp(w);
		}
		for (const map of [this.groups, this.processes])
			for (const w of map.values())
				if (!wanted || kept.has(w.serial))
					add(w);
		const root = { serial: NODE, level: 'node', name: nodeName, key: '', ...node };
		const rows = [{ w: root, depth: 1, parts: children.get(NODE)?.length ?? 0, open: true }];
		const walk = (parent, depth) => {
			for (const w of (children.get(parent) ?? []).sort(sorter)) {
				const parts = children.get(w.serial)?.length ?? 0;
				const unfolded = parts > 0 && (wanted ? true : open.has(w.serial));
				rows.push({ w, depth, parts, open: unfolded });
				if (unfolded)
					walk(w.serial, depth + 1);
			}
		};
		walk(NODE, 2);
		return rows;
	}
}
