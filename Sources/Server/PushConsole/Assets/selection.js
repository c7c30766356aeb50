// Devices that a user has selected on one page or several, and what is done to all of them.

import { part } from "./client.js";
import { ask, note } from "./dialog.js";
import { h } from "./dom.js";
import { count, some } from "./format.js";
import { badge } from "./parts.js";

const most = 1000;
const lanes = 4;

const deeds = {
  deactivate: {
    name: "Deactivate", past: "deactivated", isGrave: true, wants: (device) => device.active,
    text: (number) => [`Nothing more is sent to ${number}.`,
      "A device becomes active again when the app on it registers, or when somebody reactivates it."],
    run: (client, { device }) => client.json("POST", `/v1/devices/${part(device)}/deactivate`, { reason: "by_hand" }),
    change: (device) => ({ ...device, active: false }),
  },
  reactivate: {
    name: "Reactivate", past: "reactivated", isGrave: false, wants: (device) => !device.active,
    text: (number) => [`Notifications are sent again to ${number}.`,
      "A device becomes inactive again if the push service says again that its token is dead."],
    run: (client, { device }) => client.json("POST", `/v1/devices/${part(device)}/reactivate`,
      client.emptyBody("POST", "/v1/devices/{device}/reactivate")),
    change: (device) => ({ ...device, active: true }),
  },
  erase: {
    name: "Erase", past: "erased", isGrave: true, wants: () => true,
    text: (number) => [`The tokens, the users and the tags of ${number} are erased.`,
      "Their ids stay in past events. This cannot be undone; the apps on the devices can register them again."],
    run: (client, { app, device }) => client.json("DELETE", `/v1/apps/${part(app)}/devices/${part(device)}`),
    change: () => null,
  },
};

export class Selection {
  constructor() {
    this.chosen = new Map();
    this.work = null;
  }

  clear() {
    this.chosen.clear();
    if (this.work) this.work.isOver = true;
  }

  /** Takes over newer values of the devices. */
  refresh(devices) {
    for (const one of devices) if (this.chosen.has(one.device)) this.chosen.set(one.device, one);
  }

  /** The column of a table. */
  choices(redraw) {
    return {
      has: ({ device }) => this.chosen.has(device),
      name: ({ device, user }) => `the device ${device.slice(0, 8)}${user ? ` of ${user}` : ""}`,
      set: (devices, isChosen) => {
        for (const one of devices) {
          if (!isChosen) this.chosen.delete(one.device);
          else if (this.chosen.size < most || this.chosen.has(one.device)) this.chosen.set(one.device, one);
          else note(`At most ${count(most)} devices can be selected.`, true);
        }
        redraw();
      },
    };
  }

  draw(context, again) {
    const { chosen, work } = this;
    if (!chosen.size && !work) return null;
    const all = [...chosen.values()];
    const button = (deed) => {
      const some_ = all.filter(deed.wants);
      return h("button", { type: "button", "data-key": deed.name, disabled: Boolean(work) || !some_.length,
        class: deed.isGrave && deed.name === "Erase" ? "grave quietly" : null,
        onclick: () => this.run(deed, some_, context, again) }, `${deed.name} ${count(some_.length)}…`);
    };
    return h("section", { class: "selection", "aria-label": "Selected devices", "data-key": "selection" },
      h("p", { role: "status" }, work
        ? badge("warn", `${count(work.done)} of ${some(work.all, "device")} ${work.deed.past}`
          + `${work.failed ? `, ${count(work.failed)} failed` : ""}`)
        : h("strong", null, `${some(chosen.size, "device")} selected`)),
      h("div", { class: "buttons" }, Object.values(deeds).map(button),
        work ? h("button", { type: "button", "data-key": "stop", onclick: () => {
          work.isOver = true;
        } }, "Stop")
          : h("button", { type: "button", "data-key": "clear", onclick: () => {
            this.clear();
            context.redraw();
          } }, "Clear")));
  }

  /** Does it to all, a few at a time. A failure does not end it; the failed ones stay selected. */
  async run(deed, devices, context, again) {
    const number = some(devices.length, "device");
    if (!await ask({ title: `${deed.name} ${number}?`, deed: `${deed.name} ${number}`, isGrave: deed.isGrave,
      text: deed.text(devices.length === 1 ? "this device" : `these ${number}`) })) return;
    const work = { deed, all: devices.length, done: 0, failed: 0, isOver: false, problem: null };
    this.work = work;
    const rest = [...devices];
    const lane = async () => {
      for (let one = rest.shift(); one && !work.isOver; one = rest.shift()) {
        try {
          await deed.run(context.client, one);
          work.done += 1;
          const next = deed.change(one);
          if (next) this.chosen.set(one.device, next);
          else this.chosen.delete(one.device);
        } catch (problem) {
          work.failed += 1;
          work.problem ??= problem;
          // A key without the right, or a server that is gone, fails for all of them.
          if (problem.isLost || problem.status === 401 || problem.status === 403) work.isOver = true;
          if (problem.isBusy) await new Promise((done) => setTimeout(done, 1000 * Math.max(1, problem.retryAfter)));
        }
        context.redraw();
      }
    };
    await Promise.all(Array.from({ length: lanes }, lane));
    this.work = null;
    const left = work.all - work.done;
    if (!left) {
      this.chosen.clear();
      note(`${some(work.done, "device")} ${deed.past}.`);
    } else {
      note(`${some(work.done, "device")} ${deed.past}, ${count(left)} not${work.problem
        ? `: ${work.problem.detail}` : "."}`, true);
    }
    again();
  }
}
