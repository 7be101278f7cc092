import { type AgentDriver, steadDriver } from './agent-image.ts'
import { openClawDriver } from './openclaw-image.ts'
import type { AgentKind } from './runtime.ts'

/** Every program that an agent's image can hold. */
export const agentDrivers: Readonly<Record<AgentKind, AgentDriver>> = { stead: steadDriver, openclaw: openClawDriver }
