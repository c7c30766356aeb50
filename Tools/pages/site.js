// Search, color scheme, and what a narrow window folds.
(() => {
  "use strict";
  const $ = (id) => document.getElementById(id);
  const root = document.documentElement;

  // The color scheme: that of the system, light or dark.
  const themes = ["system", "light", "dark"];
  const button = $("site-theme");
  const theme = () => root.dataset.theme ?? "system";
  const nameTheme = () => {
    const next = themes[(themes.indexOf(theme()) + 1) % themes.length];
    button.textContent = { system: "Auto", light: "Light", dark: "Dark" }[theme()];
    button.setAttribute("aria-label", `Colors: ${theme()}. Change to ${next}`);
  };
  button.addEventListener("click", () => {
    const next = themes[(themes.indexOf(theme()) + 1) % themes.length];
    if (next === "system") delete root.dataset.theme;
    else root.dataset.theme = next;
    try {
      localStorage.setItem("carillon-theme", next);
    } catch {
      // The choice holds for this page.
    }
    nameTheme();
  });
  nameTheme();
  button.hidden = false;

  // The lists at the side fold in a narrow window, and are open in a wide one.
  const fold = (selector, query) => {
    const details = document.querySelector(selector);
    if (!details) return;
    const wide = matchMedia(query);
    const set = () => {
      details.open = wide.matches;
    };
    wide.addEventListener("change", set);
    set();
  };
  fold("#site-books details", "(width >= 60em)");
  fold("#site-contents details", "(width >= 82em)");
  document.querySelector("#site-books [aria-current]")?.scrollIntoView({ block: "nearest" });

  // Regions that scroll are reached by keyboard; others are not a stop.
  const measure = () => {
    for (const one of document.querySelectorAll("pre[tabindex], .table[tabindex], figure[tabindex]")) {
      one.tabIndex = one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight ? 0 : -1;
    }
  };
  addEventListener("resize", measure);
  // Pictures have their size after they were loaded.
  addEventListener("load", measure);
  measure();

  // Commands and code can be copied where the browser allows it.
  if (navigator.clipboard) {
    for (const block of document.querySelectorAll(".commands, .listing")) {
      const copy = document.createElement("button");
      copy.type = "button";
      copy.className = "copy";
      copy.textContent = "Copy";
      copy.addEventListener("click", async () => {
        try {
          await navigator.clipboard.writeText(block.querySelector("code").textContent);
          copy.textContent = "Copied";
        } catch {
          copy.textContent = "Not allowed";
        }
        setTimeout(() => {
          copy.textContent = "Copy";
        }, 2000);
      });
      block.append(copy);
    }
  }

  // The section that is read is marked in the list of the page.
  const marks = new Map([...document.querySelectorAll("#site-contents a")].map((one) => [one.hash.slice(1), one]));
  const headings = [...marks.keys()].map((id) => $(decodeURIComponent(id))).filter(Boolean);
  if (headings.length) {
    let waiting = false;
    const mark = () => {
      waiting = false;
      const read = headings.findLast((one) => one.getBoundingClientRect().top < 120) ?? headings[0];
      for (const [id, one] of marks) {
        if (decodeURIComponent(id) === read.id) one.setAttribute("aria-current", "true");
        else one.removeAttribute("aria-current");
      }
    };
    addEventListener("scroll", () => {
      if (!waiting) requestAnimationFrame(mark);
      waiting = true;
    }, { passive: true });
    mark();
  }

  // The search. Its index is read when the field is used first.
  const query = $("site-query");
  const found = $("site-found");
  let asked = false;
  let chosen = -1;
  const load = () => {
    if (asked) return;
    asked = true;
    const script = document.createElement("script");
    script.src = "assets/words.js";
    script.addEventListener("load", search);
    script.addEventListener("error", () => {
      asked = false;
      $("site-count").textContent = "The index of the search cannot be read.";
    });
    document.head.append(script);
  };

  const score = ([address, title, heading, text], terms) => {
    const [a, b, c] = [heading.toLowerCase(), title.toLowerCase(), text.toLowerCase()];
    let sum = 0;
    for (const term of terms) {
      const inText = c.indexOf(term) >= 0;
      if (a.includes(term)) sum += a === term ? 60 : a.split(/\W+/).includes(term) ? 30 : 15;
      else if (b.includes(term)) sum += 8;
      else if (!inText) return 0;
      if (inText) sum += 4 + Math.min(4, c.split(term).length - 2);
    }
    if (terms.length > 1 && c.includes(terms.join(" "))) sum += 12;
    // The changelog names everything; the pages explain it.
    return address.startsWith("changelog") ? sum / 3 : sum;
  };

  const marked = (text, terms) => {
    const line = document.createElement("span");
    const pattern = new RegExp(terms.map((term) => term.replace(/[^\w\s]/gu, "\\$&")).join("|"), "giu");
    let place = 0;
    for (const match of text.matchAll(pattern)) {
      line.append(text.slice(place, match.index));
      const one = document.createElement("mark");
      one.textContent = match[0];
      line.append(one);
      place = match.index + match[0].length;
    }
    line.append(text.slice(place));
    return line;
  };

  const excerpt = (text, terms) => {
    const places = terms.map((term) => text.toLowerCase().indexOf(term)).filter((place) => place >= 0);
    const from = Math.max(0, Math.min(...places, text.length) - 50);
    const begin = from === 0 ? 0 : text.indexOf(" ", from) + 1;
    const end = begin + 150 < text.length ? text.lastIndexOf(" ", begin + 150) : text.length;
    return (begin > 0 ? "… " : "") + text.slice(begin, end) + (end < text.length ? " …" : "");
  };

  const choose = (index) => {
    const options = [...found.children];
    chosen = options.length ? (index + options.length) % options.length : -1;
    options.forEach((one, number) => one.setAttribute("aria-selected", String(number === chosen)));
    if (chosen < 0) return query.removeAttribute("aria-activedescendant");
    query.setAttribute("aria-activedescendant", options[chosen].id);
    options[chosen].scrollIntoView({ block: "nearest" });
  };

  const close = () => {
    found.hidden = true;
    query.setAttribute("aria-expanded", "false");
    query.removeAttribute("aria-activedescendant");
    chosen = -1;
  };

  const search = () => {
    const terms = query.value.toLowerCase().split(/\s+/u).filter(Boolean);
    if (!terms.length || !globalThis.words) {
      $("site-count").textContent = "";
      return close();
    }
    const best = globalThis.words
      .map((section) => [score(section, terms), section])
      .filter(([points]) => points > 0)
      .sort(([a], [b]) => b - a)
      .slice(0, 12);
    found.replaceChildren(...best.map(([, [address, title, heading, text]], number) => {
      const one = document.createElement("a");
      one.href = address;
      one.id = `site-found-${number}`;
      one.tabIndex = -1;
      one.setAttribute("role", "option");
      const name = document.createElement("strong");
      name.append(marked(heading === title ? title : `${title} › ${heading}`, terms));
      const line = marked(excerpt(text, terms), terms);
      line.className = "excerpt";
      one.append(name, line);
      one.addEventListener("click", close);
      return one;
    }));
    if (!best.length) {
      const none = document.createElement("p");
      none.setAttribute("role", "option");
      none.setAttribute("aria-disabled", "true");
      none.id = "site-found-none";
      none.textContent = "Nothing has all of these words.";
      found.append(none);
    }
    $("site-count").textContent = `${best.length} found`;
    found.hidden = false;
    query.setAttribute("aria-expanded", "true");
    choose(best.length ? 0 : -1);
  };

  query.addEventListener("focus", () => {
    load();
    search();
  });
  query.addEventListener("input", () => {
    load();
    search();
  });
  query.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (found.hidden) search();
      else choose(chosen + (event.key === "ArrowDown" ? 1 : -1));
    } else if (event.key === "Enter") {
      const one = found.hidden ? null : found.children[Math.max(0, chosen)];
      if (one instanceof HTMLAnchorElement) {
        event.preventDefault();
        close();
        location.href = one.href;
        query.blur();
      }
    } else if (event.key === "Escape") {
      event.preventDefault();
      if (found.hidden) query.blur();
      close();
    }
  });
  // The field may have the focus again by then.
  query.addEventListener("blur", () => setTimeout(() => {
    if (document.activeElement !== query && !found.contains(document.activeElement)) close();
  }, 150));
  addEventListener("keydown", (event) => {
    const place = document.activeElement;
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || place instanceof HTMLInputElement) return;
    event.preventDefault();
    query.focus();
    query.select();
  });
  $("site-search").hidden = false;
})();
