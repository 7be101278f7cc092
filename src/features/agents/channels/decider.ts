import type { Principal } from '../../../http/env.ts'

export type UserPrincipal = Extract<Principal, { kind: 'user' }>

/** Who decides, and from where. */
export type Decider = { principal: UserPrincipal; address: string | null }
