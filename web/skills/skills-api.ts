import { queryOptions } from '@tanstack/react-query'
import { z } from 'zod'
import { CreatedSkill, InstallResponse, Marketplace, SkillDetail } from '../../src/features/payments/skills/schemas.ts'
import { api, inPath, request, within } from '../api/request.ts'

const Done = z.object({ success: z.literal(true) })

export const marketplaceQuery = queryOptions({
  queryKey: ['skills'],
  queryFn: ({ signal }) => request(Marketplace, api.GET('/api/skills', { signal })),
})

export function skillQuery(name: string) {
  return queryOptions({
    queryKey: ['skills', name],
    queryFn: ({ signal }) => request(SkillDetail, api.GET('/api/skills/{name}', { ...inPath({ name }), signal })),
  })
}

export type Pair = { skillId: string; agentId: string }

export function installSkill(body: Pair) {
  return request(InstallResponse, api.POST('/api/skills', { body }))
}

export function enableSkill(body: Pair & { enabled: boolean }) {
  return request(Done, api.PATCH('/api/skills', { body }))
}

export function removeSkill(body: Pair) {
  return request(Done, api.DELETE('/api/skills', { body }))
}

export function createSkill(skillMd: string) {
  return request(CreatedSkill, api.POST('/api/skills/create', { body: { skillMd } }))
}

export function deleteSkill(name: string) {
  return request(Done, api.DELETE('/api/skills/{name}', inPath({ name })))
}

/** Allows time for a model call. */
export function runSkill(name: string, body: Record<string, unknown>) {
  return request(
    z.looseObject({ success: z.literal(true) }),
    api.POST('/api/skills/{name}', { ...inPath({ name }), body, fetch: within(180_000) }),
  )
}
