/**
 * What the owner of an agent has installed for it: `description` says when it fits, `instructions` what to do then.
 * `folder` is where in the workspace one of its own lies, and `scripts` are the programs there.
 */
export type Skill = { name: string; description: string; instructions: string; folder?: string; scripts?: string[] }
