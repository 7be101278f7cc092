import type { Answer, ProviderRequest } from '../../harness/doubles/provider.ts'

/** The sender in the messenger. */
export const ADA = { id: 7, first_name: 'Ada' }
const SOON_MS = 2000

/** Calls one tool per request and reports its result. */
export function answerWithTools({ body }: ProviderRequest): Answer {
  const lastUser = body.messages.findLastIndex(({ role }) => role === 'user')
  const question = String(body.messages[lastUser]?.content)
  const result = body.messages.slice(lastUser + 1).find(({ role }) => role === 'tool')
  const use = (name: string, input: Record<string, unknown>): Answer =>
    result ? { text: `${name}: ${String(result.content)}` } : { toolCalls: [{ name, arguments: input }] }
  const [, page] = /Read (http\S+)/.exec(question) ?? []
  if (page) return use('read_page', { url: page })
  if (question.includes('Keep a note')) return use('write_file', { path: 'a.md', content: 'Tea' })
  if (question.includes('Delete the note')) return use('delete_file', { path: 'a.md' })
  if (question.includes('It is time'))
    return use('send_message', { action: 'send', to: `telegram:${ADA.id}`, text: 'Tea is ready' })
  if (!question.includes('Remind me')) return { text: `You said: ${question}` }
  const when = `@at ${new Date(Date.now() + SOON_MS).toISOString()}`
  return use('schedule', { action: 'create', name: 'Tea', prompt: 'It is time for tea', when })
}

/** Serves a page about tea that mentions `eighty degrees`. */
export function servePage() {
  const html = `<title>Tea</title><article>${'<p>Green tea wants eighty degrees and two minutes.</p>'.repeat(5)}</article>`
  return Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response(html, { headers: { 'content-type': 'text/html' } }),
  })
}
