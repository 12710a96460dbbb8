/** The changes that are not saved yet; they survive a reload of the tab. */

import { keptFor } from "../place.js";

const KEY = keptFor("ostler.settings");

/** `changed` is called after every change. */
export function settingsDraft(changed) {
  const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "{}");
  const values = new Map(kept.values ?? []);
  let models = kept.models ?? null;

  function keep() {
    if (values.size || models) sessionStorage.setItem(KEY, JSON.stringify({ values: [...values], models }));
    else sessionStorage.removeItem(KEY);
    changed();
  }

  return {
    get count() { return values.size + (models ? 1 : 0); },
    get models() { return models; },
    get edits() { return [...values].map(([key, value]) => ({ key, value })); },
    has: (key) => values.has(key),
    value: (setting) => (values.has(setting.key) ? values.get(setting.key) : setting.value),

    /** Sets a value; the one that is saved already is no change. */
    set(setting, value) {
      if (same(value, setting.value)) values.delete(setting.key);
      else values.set(setting.key, value);
      keep();
    },

    /** Removes a setting from its file. */
    reset(setting) {
      values.set(setting.key, null);
      keep();
    },

    order(names, saved) {
      models = same(names, saved) ? null : names;
      keep();
    },

    clear() {
      values.clear();
      models = null;
      keep();
    },

    /** Drops what another program has saved or removed meanwhile. */
    rebase(settings) {
      const known = new Map(settings.map((one) => [one.key, one]));
      for (const [key, value] of [...values]) {
        if (!known.get(key)?.editable || same(value, known.get(key).value)) values.delete(key);
      }
      keep();
    },
  };
}

function same(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}
