import type { CompletionChunk } from '../../../adapters/models/provider.ts'
import type { JsonObject } from '../../../core/json/json-object.ts'
import { mapEventTexts } from './body-texts.ts'
import { type Guard, type GuardedCall, requireClean } from './guard.ts'
import { cleanText, createTextStream, type TextStream } from './scan.ts'
import { type Delta, endsGroup, listDeltas, replaceDeltas } from './stream-deltas.ts'

/** A text under way, and its latest delta. */
type Lane = { stream: TextStream; delta: Delta; chunk: CompletionChunk }

/**
 * Passes a streamed answer on with the replacements of the rules, and holds back only text that could become a match.
 * With a webhook the whole answer is held until the webhook has judged it.
 * @throws AppError `invalid` GUARDRAIL_BLOCKED, which ends the stream.
 */
export function guardChunks(
  guard: Guard,
  chunks: AsyncIterable<CompletionChunk>,
  call: GuardedCall,
): AsyncIterable<CompletionChunk> {
  if (!guard.checksOutput) return chunks
  const clean = numberAgain(cleanChunks(guard, chunks))
  return guard.judgeOutput ? judgeChunks(clean, (texts) => guard.judgeOutput?.(texts, call) ?? texts) : clean
}

async function* cleanChunks({ rules }: Guard, chunks: AsyncIterable<CompletionChunk>): AsyncGenerator<CompletionChunk> {
  const lanes = new Map<string, Lane>()
  const clean = (text: string) => requireClean('output', cleanText(rules, text))
  for await (const chunk of chunks) {
    const event: JsonObject = JSON.parse(chunk.json)
    const deltas = listDeltas(event)
    const texts = deltas.map((delta) => {
      const stream = lanes.get(delta.lane)?.stream ?? createTextStream(rules)
      lanes.set(delta.lane, { stream, delta, chunk })
      return requireClean('output', stream.push(delta.text))
    })
    for (const [name, lane] of [...lanes]) {
      if (!endsGroup(event, lane.delta.group)) continue
      lanes.delete(name)
      const rest = requireClean('output', lane.stream.end())
      const index = deltas.findIndex(({ lane: other }) => other === name)
      if (index >= 0) texts[index] += rest
      else if (rest !== '') yield toChunk(lane.chunk, lane.delta.withText(rest))
    }
    if (deltas.length > 0) yield withEvent(chunk, replaceDeltas(event, texts))
    else yield typeof event.type === 'string' ? withEvent(chunk, mapEventTexts(event, clean)) : chunk
  }
  for (const { stream, delta, chunk } of lanes.values()) {
    const rest = requireClean('output', stream.end())
    if (rest !== '') yield toChunk(chunk, delta.withText(rest))
  }
}

/** A separate event, whose text is part of what `chunk` reported. */
function toChunk(chunk: CompletionChunk, event: JsonObject): CompletionChunk {
  return { ...chunk, json: JSON.stringify(event), said: '', isAnswer: true, usage: null }
}

function withEvent(chunk: CompletionChunk, event: JsonObject): CompletionChunk {
  return { ...chunk, json: JSON.stringify(event) }
}

/** Responses numbers its events, of which there are more now. */
async function* numberAgain(chunks: AsyncIterable<CompletionChunk>): AsyncGenerator<CompletionChunk> {
  let number: number | null = null
  for await (const chunk of chunks) {
    if (!chunk.json.includes('"sequence_number"')) {
      yield chunk
      continue
    }
    const event: JsonObject = JSON.parse(chunk.json)
    if (typeof event.sequence_number !== 'number') yield chunk
    else {
      number = number === null ? event.sequence_number : number + 1
      yield withEvent(chunk, { ...event, sequence_number: number })
    }
  }
}

/** Reads a whole stream, and forwards it as changed by `judge`. */
async function* judgeChunks(
  chunks: AsyncIterable<CompletionChunk>,
  judge: (texts: readonly string[]) => readonly string[] | Promise<readonly string[]>,
): AsyncGenerator<CompletionChunk> {
  const held: CompletionChunk[] = []
  const said = new Map<string, string>()
  for await (const chunk of chunks) {
    held.push(chunk)
    for (const { lane, text } of listDeltas(JSON.parse(chunk.json))) said.set(lane, (said.get(lane) ?? '') + text)
  }
  const before = [...said.values()]
  const judged = await judge(before)
  if (judged.every((text, index) => text === before[index])) {
    yield* held
    return
  }
  const rewritten = new Map(before.map((text, index) => [text, judged[index] ?? text]))
  const waiting = new Map([...said.keys()].map((lane, index) => [lane, judged[index] ?? '']))
  for (const chunk of held) {
    const event: JsonObject = JSON.parse(chunk.json)
    // The first event of a text has all of it.
    const texts = listDeltas(event).map(({ lane }) => {
      const text = waiting.get(lane) ?? ''
      waiting.set(lane, '')
      return text
    })
    if (texts.length > 0) yield withEvent(chunk, replaceDeltas(event, texts))
    else if (typeof event.type !== 'string') yield chunk
    else
      yield withEvent(
        chunk,
        mapEventTexts(event, (text) => rewritten.get(text) ?? text),
      )
  }
}
