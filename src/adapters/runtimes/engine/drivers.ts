import { type AgentDriver, steadDriver } from '../contract/agent-image.ts'
import type { AgentKind } from '../contract/runtime.ts'
import { openClawDriver } from '../openclaw/image.ts'

/** Every program that an agent's image can hold. */
export const agentDrivers: Readonly<Record<AgentKind, AgentDriver>> = { stead: steadDriver, openclaw: openClawDriver }
