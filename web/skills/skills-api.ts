import { queryOptions } from '@tanstack/react-query'
import { z } from 'zod'
import { CreatedSkill, InstallResponse, Marketplace, SkillDetail } from '../../src/features/money/skills/schemas.ts'
import { request } from '../api/request.ts'

const Done = z.object({ success: z.literal(true) })

/** Skills that there are, and which of the caller's agents have them. */
export const marketplaceQuery = queryOptions({
  queryKey: ['skills'],
  queryFn: ({ signal }) => request(Marketplace, '/api/skills', { signal }),
})

/** One skill with its whole file. */
export function skillQuery(name: string) {
  return queryOptions({
    queryKey: ['skills', name],
    queryFn: ({ signal }) => request(SkillDetail, skillPath(name), { signal }),
  })
}

/** Which skill of which agent. */
export type Pair = { skillId: string; agentId: string }

export function installSkill(body: Pair) {
  return request(InstallResponse, '/api/skills', { method: 'POST', body })
}

/** Turns an installed skill on or off. */
export function enableSkill(body: Pair & { enabled: boolean }) {
  return request(Done, '/api/skills', { method: 'PATCH', body })
}

export function removeSkill(body: Pair) {
  return request(Done, '/api/skills', { method: 'DELETE', body })
}

/** Keeps a skill of one's own, from its `SKILL.md`. */
export function createSkill(skillMd: string) {
  return request(CreatedSkill, '/api/skills/create', { method: 'POST', body: { skillMd } })
}

/** Deletes a skill of one's own, and takes it from every agent. */
export function deleteSkill(name: string) {
  return request(Done, skillPath(name), { method: 'DELETE' })
}

/** Uses a skill; a model may take its time. */
export function runSkill(name: string, body: unknown) {
  return request(z.looseObject({ success: z.literal(true) }), skillPath(name), {
    method: 'POST',
    body,
    timeoutMs: 180_000,
  })
}

function skillPath(name: string): string {
  return `/api/skills/${encodeURIComponent(name)}`
}
