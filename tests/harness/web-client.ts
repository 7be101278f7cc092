import type { testPlatform } from './platform.ts'

/** Creates a browser of the platform's pages that keeps cookies and follows no redirects. */
export function openBrowser(web: ReturnType<typeof testPlatform>['web']) {
  const cookies = new Map<string, string>()
  const request = async (path: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers)
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    if (cookie) headers.set('cookie', cookie)
    const response = await web.request(path, { ...init, headers })
    for (const line of response.headers.getSetCookie()) keep(cookies, line)
    return response
  }
  return {
    cookies,
    request,
    /** Returns the redirect URL of a GET request. */
    follow: async (path: string, headers: Record<string, string> = {}) =>
      (await request(path, { headers })).headers.get('location') ?? '',
  }
}

function keep(cookies: Map<string, string>, line: string): void {
  const [pair = '', ...attributes] = line.split('; ')
  const at = pair.indexOf('=')
  const name = pair.slice(0, at)
  const isOfThisHost = attributes.includes('Path=/') && !attributes.some((attribute) => attribute.startsWith('Domain='))
  if (!isOfThisHost) return
  if (attributes.includes('Max-Age=0')) cookies.delete(name)
  else cookies.set(name, pair.slice(at + 1))
}
