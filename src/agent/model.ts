import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { type ModelMessage, StreamProviderError, streamText } from 'ai'
import { z } from 'zod'
import type { EarlyEnd } from '../core/agents/collect-turn.ts'
import { AppError, errorMessage } from '../core/errors.ts'
import { createPlatformFetch, toAnswerError } from './platform.ts'
import type { ModelEvent } from './state/turn-marks.ts'
import { toToolUse } from './tools/define.ts'
import type { Rehearsal } from './tools/rehearsal.ts'
import type { EarlyEndReporter, ToolReporter } from './tools/reports.ts'
import { createTools, type ToolDeps, type TurnTools } from './tools/tools.ts'
import { describeEarlyEnd, toLoop } from './turns/limits.ts'
import { type PlainMessage, withPictures } from './turns/pictures.ts'
import { type TurnRecord, textOf } from './turns/turn-record.ts'

/** Matches provider errors that say the model does not accept images. */
const ABOUT_PICTURES = /\b(images?|image_url|vision|multi-?modal|modalit(y|ies))\b/i
const ABOUT_TOOLS = /\b(tools?|tool[ _-]?(use|calls?|calling|choice)|function[ _-]?(calls?|calling))\b/i

export type ModelSettings = { platformUrl: string; platformToken: string; model: string; idleMs: number }
export type ModelDeps = ToolDeps & { fetch: typeof fetch; reportTool: ToolReporter; reportEarlyEnd: EarlyEndReporter }

/** `model` is the model that the platform used. `usage` is null when the platform reported no token counts. */
export type Answer = {
  model: string
  finishReason: 'stop' | 'length' | 'content_filter'
  usage: { inputTokens: number; outputTokens: number } | null
}
export type TurnModelRequest = {
  toInstructions: (turn: { canUseTools: boolean; timeZone: string | null }) => string
  /** Null for a conversation that is not stored. */
  sessionKey: string | null
  messages: PlainMessage[]
  signal: AbortSignal
  onWaitForOwner: () => void
  /** Set for a turn that has an id: the model continues after the recorded steps. */
  record: TurnRecord | null
  /** Set for a turn whose tools are recorded instead of executed; it reports nothing to the platform. */
  rehearsal?: Rehearsal
}

export type PlainRequest = Pick<TurnModelRequest, 'messages' | 'signal'> & { instructions: string }

export type Model = {
  /**
   * Runs tools until the model has answered.
   * @throws AppError `limited`, `upstream_failed`, `upstream_timeout`; the signal's reason when it aborts.
   */
  answer(request: TurnModelRequest, onEvent: (event: ModelEvent) => void): Promise<Answer>
  /** Makes one call without tools. @throws as `answer`. */
  answerPlainly(request: PlainRequest, onEvent: (event: ModelEvent) => void): Promise<Answer>
}

const NO_REPORTS = { reportEarlyEnd: () => undefined }
const PLAIN_TURN = { sessionKey: null, record: null, onWaitForOwner: () => undefined }

/** Creates the model client. Loads the AI SDK, so import this module only when a turn needs it. */
export function createModel(settings: ModelSettings, deps: ModelDeps): Model {
  const platformFetch = createPlatformFetch(deps.fetch, settings.idleMs)
  const openModel = (onEvent: (event: ModelEvent) => void) =>
    createOpenAICompatible({
      name: 'platform',
      baseURL: `${settings.platformUrl}/v1`,
      apiKey: settings.platformToken,
      includeUsage: true,
      fetch: withGenerationEvents(platformFetch, onEvent),
    })(settings.model)
  const openTools = createTools(deps)
  let canUseTools = true
  let timeZone: string | null = null
  let canSee = true

  const attempt = async (request: TurnModelRequest, use: TurnTools | null, onEvent: (event: ModelEvent) => void) => {
    const { record } = request
    const loop = use && toLoop(use, record?.steps.length ?? 0)
    if (use) timeZone = use.timeZone
    const result = streamText({
      model: openModel(onEvent),
      instructions: request.toInstructions({ canUseTools: use !== null, timeZone }),
      messages: [...(await withPictures(deps.workspace, request.messages, canSee)), ...toStepMessages(record)],
      abortSignal: request.signal,
      maxRetries: 0,
      include: { rawChunks: true },
      // The default handler prints to the console; the stream also delivers the error, and `readAnswer` throws it.
      onError: () => undefined,
      onToolExecutionEnd: (ended) =>
        noteTool(ended, { reportTool: request.rehearsal ? () => undefined : deps.reportTool, onEvent, record }),
      ...loop?.settings,
    })
    try {
      return await readAnswer(result.stream, {
        onEvent,
        onStep: () => record?.beginStep(),
        emittedChars: textOf(record?.events ?? []).length,
        endEarly: () => reportEarlyEnd(request.rehearsal ? NO_REPORTS : deps, loop?.earlyEnd()),
      })
    } catch (error) {
      request.signal.throwIfAborted()
      throw toModelError(error)
    }
  }

  const answerWithTools = async (request: TurnModelRequest, onEvent: (event: ModelEvent) => void) => {
    if (!canUseTools) return attempt(request, null, onEvent)
    const use = await openTools(request)
    const first = noteBeginning(onEvent)
    try {
      return await attempt(request, use, first.onEvent)
    } catch (error) {
      if (first.hasBegun() || !isRefusalOf(ABOUT_TOOLS, error)) throw error
      const answer = await attempt(request, null, onEvent)
      canUseTools = false
      return answer
    }
  }

  return {
    answerPlainly: ({ instructions, ...request }, onEvent) =>
      attempt({ ...request, ...PLAIN_TURN, toInstructions: () => instructions }, null, onEvent),
    async answer(request, onEvent) {
      const hasPictures = canSee && request.messages.some(({ images = [] }) => images.length > 0)
      if (!hasPictures) return answerWithTools(request, onEvent)
      const first = noteBeginning(onEvent)
      try {
        return await answerWithTools(request, first.onEvent)
      } catch (error) {
        if (first.hasBegun() || !isRefusalOf(ABOUT_PICTURES, error)) throw error
        canSee = false
        return answerWithTools(request, onEvent)
      }
    },
  }
}

function reportEarlyEnd(deps: Pick<ModelDeps, 'reportEarlyEnd'>, reached: EarlyEnd | undefined | null): EarlyEnd {
  const end = reached ?? { reason: 'steps', tool: null }
  deps.reportEarlyEnd(end)
  return end
}

type EndedTool = Parameters<NonNullable<Parameters<typeof streamText>[0]['onToolExecutionEnd']>>[0]
type ToolListeners = {
  reportTool: ToolReporter
  onEvent: (event: ModelEvent) => void
  record: TurnRecord | null
}

function noteTool(
  { toolCall, toolOutput, toolExecutionMs }: EndedTool,
  { reportTool, onEvent, record }: ToolListeners,
): void {
  const success = toolOutput.type === 'tool-result'
  const durationMs = Math.round(toolExecutionMs)
  reportTool({ toolName: toolCall.toolName, success, durationMs })
  // A recorded turn emits this event itself, after the tool's result is on disk.
  if (record) return
  const result = toolOutput.type === 'tool-result' ? toolOutput.output : errorMessage(toolOutput.error)
  onEvent({ type: 'tool', ...toToolUse(toolCall.toolName, toolCall.input, result), success, durationMs })
}

/** Detects the first text or tool event: after it, a turn cannot be retried from the start. */
function noteBeginning(onEvent: (event: ModelEvent) => void) {
  let hasBegun = false
  return {
    hasBegun: () => hasBegun,
    onEvent: (event: ModelEvent) => {
      if (event.type !== 'generation') hasBegun = true
      onEvent(event)
    },
  }
}

type Parts = ReturnType<typeof streamText>['stream']

type Reading = {
  onEvent: (event: ModelEvent) => void
  onStep: () => void
  /** Number of characters emitted before the turn was resumed. */
  emittedChars: number
  endEarly: () => EarlyEnd
}

/** Returns the recorded tool calls and results as messages, so a resumed turn continues after them. */
function toStepMessages(record: TurnRecord | null): ModelMessage[] {
  return (record?.steps ?? []).flatMap(({ text, calls }): ModelMessage[] => [
    {
      role: 'assistant',
      content: [
        ...(text ? [{ type: 'text' as const, text }] : []),
        ...calls.map(({ id, name, input }) => ({
          type: 'tool-call' as const,
          toolCallId: id,
          toolName: name,
          input,
        })),
      ],
    },
    {
      role: 'tool',
      content: calls.flatMap(({ id, name, output }) =>
        output ? [{ type: 'tool-result' as const, toolCallId: id, toolName: name, output }] : [],
      ),
    },
  ])
}

async function readAnswer(parts: Parts, { onEvent, onStep, emittedChars, endEarly }: Reading): Promise<Answer> {
  let model: string | null = null
  let length = emittedChars
  let isNewStep = false
  for await (const part of parts) {
    if (part.type === 'raw') {
      const said = Chunk.safeParse(part.rawValue).data?.model
      if (said && said !== model) onEvent({ type: 'answering', model: said })
      model = said ?? model
    } else if (part.type === 'start-step') {
      isNewStep = true
      onStep()
    } else if (part.type === 'text-delta' && part.text !== '') {
      // Text before and after a tool call forms two paragraphs.
      onEvent({ type: 'text', text: isNewStep && length > 0 ? `\n\n${part.text}` : part.text })
      length += part.text.length
      isNewStep = false
    } else if (part.type === 'error') {
      throw part.error
    } else if (part.type === 'finish') {
      if (part.finishReason === 'error') throw new AppError('upstream_failed', 'The model’s answer was cut off')
      if (part.finishReason === 'tool-calls') {
        const end = endEarly()
        const sentence = describeEarlyEnd(end)
        onEvent({ type: 'text', text: `${length > 0 ? '\n\n' : ''}${sentence}` })
        onEvent({ type: 'early_end', ...end })
        length += sentence.length
      }
      if (length === 0) throw new AppError('upstream_failed', 'The model gave an empty answer')
      if (model === null) throw new AppError('upstream_failed', 'The platform did not say which model answered')
      return { model, finishReason: toFinishReason(part.finishReason), usage: toUsage(part.totalUsage) }
    }
  }
  throw new AppError('upstream_failed', 'The model’s answer was cut off')
}

const Chunk = z.object({ model: z.string().min(1) })

/** Unwraps the error of our `fetch`, and converts error events of the stream. */
function toModelError(error: unknown): AppError {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof AppError) return cause
  if (StreamProviderError.isInstance(error)) return toAnswerError(error, 200)
  return new AppError('upstream_failed', 'The model’s answer was cut off', {}, { cause: error })
}

function isRefusalOf(about: RegExp, error: unknown): boolean {
  return error instanceof AppError && error.kind === 'upstream_failed' && about.test(error.message)
}

function toFinishReason(reason: string): Answer['finishReason'] {
  if (reason === 'length' || reason === 'tool-calls') return 'length'
  return reason === 'content-filter' ? 'content_filter' : 'stop'
}

function toUsage(usage: { inputTokens: number | undefined; outputTokens: number | undefined }): Answer['usage'] {
  const { inputTokens, outputTokens } = usage
  return inputTokens === undefined || outputTokens === undefined ? null : { inputTokens, outputTokens }
}

/** Emits the `x-generation-id` header of each model call as an event before the first chunk. */
function withGenerationEvents(plainFetch: typeof fetch, onEvent: (event: ModelEvent) => void): typeof fetch {
  const reporting = async (input: Parameters<typeof fetch>[0], init?: RequestInit) => {
    const response = await plainFetch(input, init)
    const id = response.headers.get('x-generation-id')
    if (id) onEvent({ type: 'generation', id })
    return response
  }
  return Object.assign(reporting, { preconnect: plainFetch.preconnect })
}
