const KEY = 'stead-theme'
const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

/** Stored per device. */
export function readTheme(): Theme {
  const kept = localStorage.getItem(KEY)
  return THEMES.find((theme) => theme === kept) ?? 'system'
}

export function chooseTheme(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(KEY)
  else localStorage.setItem(KEY, theme)
  showTheme()
}

/** Applies the chosen theme to the page and the browser's toolbar. */
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
