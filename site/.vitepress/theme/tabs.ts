/** Chooses a framework in all lists of tabs. Styles show the panels of `data-framework` of the root element. */

const root = (): DOMStringMap => document.documentElement.dataset;

const tabsIn = (parent: ParentNode): readonly HTMLElement[] => [
  ...parent.querySelectorAll<HTMLElement>('[role="tab"]'),
];

/** The tab in which an event happened. */
const tabOf = ({ target }: Event): HTMLElement | null =>
  target instanceof Element ? target.closest<HTMLElement>('[role="tab"]') : null;

/** Names the panels for screen readers, and makes one tab of each list reachable with the Tab key. */
function describeTabs(): void {
  for (const list of document.querySelectorAll('[role="tablist"]')) {
    for (const tab of tabsIn(list)) {
      const isChosen = tab.dataset["framework"] === root()["framework"];
      tab.setAttribute("aria-selected", String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
    }
  }
  for (const panel of document.querySelectorAll(".tab-panel")) {
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-label", panel.querySelector("h3")?.firstChild?.textContent?.trim() ?? "");
  }
}

/** Chooses the framework of a tab. The tab stays where it is on the screen, because panels above it change too. */
function choose(tab: HTMLElement): void {
  const { framework } = tab.dataset;
  if (framework === undefined) return;
  const { top } = tab.getBoundingClientRect();
  root()["framework"] = framework;
  try {
    localStorage.setItem("framework", framework);
  } catch {
    // A browser without storage forgets the choice.
  }
  describeTabs();
  scrollBy(0, tab.getBoundingClientRect().top - top);
}

/** The index of the tab that a key leads to, or `undefined` for other keys. */
function indexAfter(key: string, index: number, count: number): number | undefined {
  if (key === "ArrowRight") return (index + 1) % count;
  if (key === "ArrowLeft") return (index + count - 1) % count;
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  return undefined;
}

function moveByKey(event: KeyboardEvent): void {
  const tab = tabOf(event);
  const tabs = tab?.parentElement ? tabsIn(tab.parentElement) : [];
  const next = tab ? tabs[indexAfter(event.key, tabs.indexOf(tab), tabs.length) ?? -1] : undefined;
  if (!next) return;
  event.preventDefault();
  choose(next);
  next.focus();
}

/** Shows the panel that the address of the page leads to. */
export function showLinked(): void {
  const heading = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const framework = heading?.closest<HTMLElement>(".tab-panel")?.dataset["framework"];
  const isHidden = framework !== undefined && framework !== root()["framework"];
  if (isHidden) root()["framework"] = framework;
  describeTabs();
  if (isHidden) heading?.scrollIntoView();
}

export function connectTabs(): void {
  document.addEventListener("click", (event) => {
    const tab = tabOf(event);
    if (tab) choose(tab);
  });
  document.addEventListener("keydown", moveByKey);
  addEventListener("hashchange", showLinked);
}
