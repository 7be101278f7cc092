import { z } from 'zod'

const Remembered = z.object({ key: z.string().min(1), memory: z.string() })
const Imported = z.object({
  facts: z.array(z.object({ key: z.string(), text: z.string(), at: z.iso.datetime().optional() })),
})

/** Creates the memory of one agent behind `/v1/memory`. The next `down` calls receive status 503. */
export function createMemoryDouble() {
  const kept = new Map<string, string>()
  const double = {
    kept,
    down: 0,
    calls: 0,
    async answer(request: Request, url: URL): Promise<Response> {
      double.calls += 1
      if (double.down-- > 0) return Response.json({ error: 'Starting' }, { status: 503 })
      const key = url.searchParams.get('key')
      if (url.pathname === '/v1/memory/import') {
        const { facts } = Imported.parse(await request.json())
        for (const fact of facts) if (!kept.has(fact.key)) kept.set(fact.key, fact.text)
        return Response.json({ imported: facts.length })
      }
      if (request.method === 'POST') {
        const { key: name, memory } = Remembered.parse(await request.json())
        if (kept.size >= 100) return Response.json({ error: 'Too many memory keys (max 100)' }, { status: 400 })
        kept.set(name, memory)
        return Response.json({ key: name, saved: new Date().toISOString() })
      }
      if (request.method === 'DELETE') {
        if (url.searchParams.get('all') === 'true') kept.clear()
        else if (!kept.delete(key ?? '')) return notFound()
        return Response.json({ key, deleted: true })
      }
      if (key !== null) return kept.has(key) ? Response.json({ key, text: kept.get(key) }) : notFound()
      const facts = [...kept].map(([name, text]) => ({
        key: name,
        text: text.slice(0, 500),
        isWhole: text.length <= 500,
      }))
      return Response.json({ facts })
    },
  }
  return double
}

function notFound(): Response {
  return Response.json({ error: 'Memory key not found' }, { status: 404 })
}
