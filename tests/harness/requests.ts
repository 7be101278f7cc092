import type { ZodType } from 'zod'

/** Returns a JSON request; `headers` are added. */
export function json(
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  body: unknown,
  headers: Record<string, string> = {},
): RequestInit {
  return { method, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) }
}

/** Returns the `Cookie` header that a browser would send after this response. */
export function cookiesOf(response: Response): string {
  const kept = response.headers.getSetCookie().filter((line) => !line.includes('Max-Age=0'))
  return kept.map((line) => line.split(';')[0]).join('; ')
}

export function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` }
}

/** Parses the body of a response. @throws Error when it does not match `schema`. */
export async function read<T>(schema: ZodType<T>, response: Response | Promise<Response>): Promise<T> {
  return schema.parse(await (await response).json())
}
