const KEY = 'stead-theme'
const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

/** What the person has chosen on this device. */
export function readTheme(): Theme {
  const kept = localStorage.getItem(KEY)
  return THEMES.find((theme) => theme === kept) ?? 'system'
}

/** Keeps the choice on this device and shows it at once. */
export function chooseTheme(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(KEY)
  else localStorage.setItem(KEY, theme)
  showTheme()
}

/** Shows the page in the theme that was chosen, and the bar of the browser around it. */
export function showTheme(): void {
  const theme = readTheme()
  const root = document.documentElement
  if (theme === 'system') root.removeAttribute('data-theme')
  else root.setAttribute('data-theme', theme)
  for (const meta of document.querySelectorAll<HTMLMetaElement>('meta[name="theme-color"]')) {
    const own = meta.dataset.media ?? meta.media
    meta.dataset.media = own
    meta.media = theme === 'system' ? own : own.includes(theme) ? 'all' : 'not all'
  }
}
