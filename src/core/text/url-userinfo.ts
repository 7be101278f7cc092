/** What follows `scheme://` up to the last `@` before a path: a name, and a password, also where the text is JSON. */
const USERINFO = /([a-z][a-z0-9+.-]{0,31}:\/\/)(?:[^\s/?#\\]|\\["\\])+@/gi

/** Any text with the URLs in it as they are without name and password. What is no such URL stays as it is. */
export function withoutUserinfo(text: string): string {
  return text.replace(USERINFO, '$1')
}
