import type { ToolSet } from 'ai'
import { z } from 'zod'
import type { ToolSettings } from '../../core/agents/agent-tools.ts'
import { AppError, errorMessage } from '../../core/errors.ts'
import { isJsonObject } from '../../core/json/json-object.ts'
import type { Outbox } from '../channels/channel.ts'
import type { NotifyOwners } from '../channels/owner-notices.ts'
import { type CommandPlaces, createCommandTools } from '../commands/command-tools.ts'
import type { McpServers } from '../commands/mcp-servers.ts'
import type { PlatformCall } from '../platform.ts'
import type { FactStore } from '../state/memory.ts'
import type { AgentWorkspace } from '../state/workspace.ts'
import type { ToolOutput, TurnRecord } from '../turns/turn-record.ts'
import type { ApprovalQuestion, Approvals } from './approvals.ts'
import { type CountUse, countedKinds } from './day-limits.ts'
import { type AgentTool, defineTool, type ToolGuard, toToolSet } from './define.ts'
import { createFileTools } from './files.ts'
import { loadMcpTools } from './mcp.ts'
import { createMemoryTools } from './memory.ts'
import {
  createAgentTools,
  createMessageTool,
  createPayTool,
  createScheduleTool,
  createWebTools,
} from './platform-tools.ts'
import type { Rehearsal } from './rehearsal.ts'
import type { LoadToolSettings } from './settings.ts'
import { type LoadSkills, readSkill } from './skills.ts'

export type ToolDeps = {
  workspace: AgentWorkspace
  memory: FactStore
  loadSkills: LoadSkills
  loadToolSettings: LoadToolSettings
  approvals: Approvals
  countUse: CountUse
  call: PlatformCall
  outbox: Outbox
  /** Without isolation, commands run only if the owner has accepted that. */
  commands: CommandPlaces & { isConfined: boolean }
  mcpServers: McpServers | null
  notifyOwners: NotifyOwners
}

export type TurnTools = Pick<ToolSettings, 'limits' | 'price' | 'timeZone'> & { tools: ToolSet; repeats: Repeats }

type OpenTools = (turn: ToolTurn) => Promise<TurnTools>

/**
 * The turn that uses the tools. `sessionKey` is null for a conversation that is not stored, and `record` for a turn
 * without an id.
 */
type ToolTurn = {
  sessionKey: string | null
  signal: AbortSignal
  onWaitForOwner: () => void
  record: TurnRecord | null
  /** Set for a turn whose tools are recorded instead of executed. */
  rehearsal?: Rehearsal
}

export function createTools(deps: ToolDeps): OpenTools {
  const { workspace, memory, loadSkills, loadToolSettings, approvals, countUse, call, outbox, commands } = deps
  const known: Readonly<Record<string, AgentTool>> = {
    ...createMemoryTools(memory, call),
    ...createFileTools(workspace),
    ...createWebTools(call),
    ...createScheduleTool(call),
    ...createAgentTools(call),
    ...createMessageTool(outbox),
    ...createPayTool(call),
  }
  const commandTools = createCommandTools(commands)
  return async ({ sessionKey, signal, onWaitForOwner, record, rehearsal }) => {
    const { tools, hasMcp, acceptsNotIsolated, limits, price, timeZone } = await loadToolSettings(signal)
    const mayRun = commands.isConfined || acceptsNotIsolated
    const use_skill = createSkillTool(loadSkills, describeScripts(mayRun, tools))
    const offered = { ...known, ...(mayRun && commandTools), use_skill }
    const allowed = Object.fromEntries(Object.entries(offered).filter(([name]) => tools.includes(name)))
    if (!hasMcp) deps.mcpServers?.keepOnly([])
    const others = hasMcp ? await loadMcpTools(call, deps.mcpServers, signal, deps.notifyOwners) : {}
    const repeats = createRepeats()
    const used = record?.steps.flatMap(({ calls }) => calls) ?? []
    for (const { name, input } of used) repeats.note(name, input)
    const maxCalls = Math.max(0, limits.toolCalls - used.length)
    const guard = createGuard({ approvals, countUse, repeats, onWaitForOwner }, { sessionKey, maxCalls, record })
    return {
      tools: toToolSet({ ...others, ...allowed, ...rehearsal?.tools }, rehearsal?.guard ?? guard),
      repeats,
      limits,
      price,
      timeZone,
    }
  }
}

/**
 * Limits the calls of one turn and of a day, refuses loops, and requires the owner's approval of exactly the input of a
 * risky call.
 */
function createGuard(
  {
    approvals,
    countUse,
    repeats,
    onWaitForOwner,
  }: { approvals: Approvals; countUse: CountUse; repeats: Repeats; onWaitForOwner: () => void },
  { sessionKey, maxCalls, record }: { sessionKey: string | null; maxCalls: number; record: TurnRecord | null },
): ToolGuard {
  let calls = 0
  const use: ToolGuard = async (agentTool, call) => {
    const { name, input, signal } = call
    calls += 1
    if (calls > maxCalls) throw new AppError('limited', `This turn may use at most ${maxCalls} tools: answer now`)
    const refusal = repeats.note(name, input)
    if (refusal !== null) throw new AppError('limited', refusal)
    const json = JSON.stringify(input)
    const execute = async (approvalId: string | null) => {
      await countUse(countedKinds(name, input), signal)
      await record?.beginTool(call)
      return agentTool.execute(input, { signal, json, approvalId, sessionKey })
    }
    if (!agentTool.needsOwner(input)) return execute(null)
    await agentTool.check?.(input)
    onWaitForOwner()
    const question: ApprovalQuestion = { tool: agentTool.askedAs ?? name, json, sessionKey }
    const approvalId = await approvals.ask(question, signal)
    // The platform uses up approvals of the tools that it executes.
    if (!agentTool.isDoneByPlatform) await approvals.claim(approvalId, question, signal)
    return execute(approvalId)
  }
  return record === null ? use : recording(use, record)
}

/** Saves each result before the model sees it. */
function recording(use: ToolGuard, record: TurnRecord): ToolGuard {
  return async (agentTool, call) => {
    try {
      const result = await use(agentTool, call)
      await record.endTool(call, toOutput(result), result)
      return result
    } catch (error) {
      const message = errorMessage(error)
      await record.endTool(call, { type: 'error-text', value: message }, message)
      throw error
    }
  }
}

/** Converts a result as the AI SDK does for models. */
function toOutput(result: unknown): ToolOutput {
  if (typeof result === 'string') return { type: 'text', value: result }
  return { type: 'json', value: JSON.parse(JSON.stringify(result ?? null)) }
}

/** Explains whether and how the scripts of a skill can be run. */
function describeScripts(mayRun: boolean, tools: readonly string[]): string {
  if (!mayRun) {
    return 'These scripts cannot be run: this agent runs where nothing confines them, and its owner has not accepted that. Do what you can without, and say so.'
  }
  if (!tools.includes('run_shell')) {
    return 'These scripts cannot be run: run_shell is switched off for this agent. Do what you can without, and say so.'
  }
  return 'Run them with run_shell, by these paths, such as sh <path> or python3 <path>. Your owner is asked first.'
}

function createSkillTool(loadSkills: LoadSkills, howToRun: string): AgentTool {
  return defineTool({
    description:
      'Shows the instructions of one of your skills, by its name in the list of your skills. Follow them then.',
    inputSchema: z.object({ name: z.string() }),
    execute: (input) => readSkill(loadSkills, input.name, howToRun),
  })
}

/** Refuses this repetition of a tool call; the next one ends the turn. */
const MAX_EQUAL_USES = 3

type Repeats = {
  /** Counts a call. @returns the message that replaces a repeated call, null for other calls. */
  note(tool: string, input: unknown): string | null
  /** Returns the tool that the model repeated after the refusal, or null. */
  loopingTool(): string | null
}

/** Creates the counter of one turn. The order of arguments does not matter. */
function createRepeats(): Repeats {
  const counts = new Map<string, number>()
  let looping: string | null = null
  return {
    note(tool, input) {
      const use = `${tool} ${toCanonicalJson(input)}`
      const count = (counts.get(use) ?? 0) + 1
      counts.set(use, count)
      if (count < MAX_EQUAL_USES) return null
      if (count > MAX_EQUAL_USES) looping = tool
      return `You have called ${tool} with the same arguments ${count} times in this turn, so it was not done again. Do not call it like that any more: answer with what you know, and say what is missing.`
    },
    loopingTool: () => looping,
  }
}

function toCanonicalJson(value: unknown): string {
  return (
    JSON.stringify(value, (_, part: unknown) =>
      isJsonObject(part)
        ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
        : part,
    ) ?? ''
  )
}
