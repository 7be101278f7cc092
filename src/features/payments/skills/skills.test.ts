import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { z } from 'zod'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { createEchoProvider } from '../../../adapters/models/echo.ts'
import type { AiProvider } from '../../../adapters/models/provider.ts'
import { sha256 } from '../../../core/secrets.ts'
import { write } from '../../../db/write.ts'
import type { PlanName } from '../../accounts/plans/plans.ts'
import { users } from '../../accounts/users/tables.ts'
import { insertAgent, openTokens } from '../../agents/registry/agents.ts'
import { bookings, events } from '../underground/tables.ts'
import { CreatedSkill, InstallResponse, Marketplace, SkillDetail } from './schemas.ts'
import { BUILT_IN, parseSkillText } from './skill-text.ts'

const PATH = '/api/skills'
const MINE = '---\nname: my-skill\ndescription: Says hello.\n---\n\n# My skill\n\nSay hello.\n'
const Used = z.looseObject({ success: z.literal(true) })

/** The offline model with a fixed reply. */
function modelThatSays(reply: string): AiProvider {
  const echo = createEchoProvider({ newId: () => 'chat_1', nowSeconds: () => 1 })
  return { ...echo, complete: async (wire, signal) => ({ ...(await echo.complete(wire, signal)), content: reply }) }
}

/** A platform with Ada and two agents. */
async function openTestPlatform({ plan = 'network' as PlanName | null, providers = [] as AiProvider[] } = {}) {
  const test = testPlatform({ providers })
  await test.platform.catalogue.refresh(AbortSignal.timeout(60_000))
  const deps = { clock: test.clock, sealer: test.platform.sealer }
  const join = async (email: string, of: PlanName | null) => {
    const { user, cookie } = await test.signIn(email, of)
    const usual = { model: 'local/echo', plan: 'solo', aiProvider: 'openrouter', status: 'running' } as const
    const [agent, other] = await write(test.platform.db, (tx) => [
      insertAgent(deps, tx, { ...usual, name: 'one', ownerId: user.id }),
      insertAgent(deps, tx, { ...usual, name: 'two', ownerId: user.id }),
    ])
    if (!agent || !other) throw new Error('There are no agents')
    const ask = (method: 'POST' | 'PATCH' | 'DELETE', path: string, body: unknown) =>
      test.web.request(path, json(method, body, cookie))
    return {
      user,
      cookie,
      agent,
      other,
      install: (skillId: string, agentId = agent.id) => ask('POST', PATH, { skillId, agentId }),
      enable: (skillId: string, enabled: boolean, agentId = agent.id) =>
        ask('PATCH', PATH, { skillId, agentId, enabled }),
      remove: (skillId: string, agentId = agent.id) => ask('DELETE', PATH, { skillId, agentId }),
      create: (body: unknown) => ask('POST', `${PATH}/create`, body),
      use: (skill: string, body: unknown) => ask('POST', `${PATH}/${skill}`, body),
      list: (query = '') => read(Marketplace, test.web.request(`${PATH}${query}`, { headers: cookie })),
      loaded: () => {
        const token = openTokens(test.platform.sealer, agent).accessToken
        return read(
          z.object({ skills: z.array(z.object({ name: z.string(), instructions: z.string() }).loose()) }),
          test.backend.request('/v1/skills', { headers: bearer(token) }),
        )
      },
    }
  }
  return { ...test, ...(await join('ada@example.com', plan)), join }
}

test('GET /api/skills: 200 without credentials, featured ones first, each with version and checksum', async () => {
  const { web } = await openTestPlatform()
  const market = await read(Marketplace, web.request(PATH))
  expect(market.skills.map(({ id }) => id).sort()).toEqual([...BUILT_IN.keys()].sort())
  expect(market.skills.slice(0, market.featured.length)).toEqual(market.featured)
  expect(market).toMatchObject({ installedSkillIds: [], installed: null, limit: null })
  for (const skill of market.skills) {
    expect(skill).toMatchObject({ version: '0.1.0', downloads: 0, rating: null, source: 'built-in' })
    expect(skill.checksum).toBe(sha256(BUILT_IN.get(skill.id)?.content ?? ''))
  }
  expect(market.categories).toEqual([...new Set(market.skills.map(({ category }) => category))].sort())
})

test('GET /api/skills: 200 filtered by category, featured and words', async () => {
  const { list } = await openTestPlatform()
  const idsOf = async (query: string) => (await list(query)).skills.map(({ id }) => id)
  expect(await idsOf('?search=ESCROW')).toEqual(['booking-settlement'])
  expect(await idsOf('?search=tickets+door')).toEqual(['event-ticketing'])
  expect(await idsOf('?category=creative')).toEqual(['visual-synthesizer'])
  expect(await idsOf('?featured=true')).not.toContain('tour-planner')
  expect(await idsOf('?category=none')).toEqual([])
  expect((await openTestPlatform()).web.request(`${PATH}?featured=maybe`).then(({ status }) => status)).resolves.toBe(
    400,
  )
})

test('POST /api/skills: 200 installs once, is counted once per user, and enables a disabled skill', async () => {
  const { install, enable, remove, list, other, agent, user, join, clock } = await openTestPlatform()
  const body = await read(InstallResponse, install('tour-planner'))
  expect(body).toEqual({
    success: true,
    installed: {
      id: expect.any(String),
      userId: user.id,
      agentId: agent.id,
      skillId: 'tour-planner',
      enabled: true,
      createdAt: clock.now().toISOString(),
    },
    deployed: true,
  })
  expect((await read(InstallResponse, install('tour-planner'))).installed.id).toBe(body.installed.id)
  await install('tour-planner', other.id)
  const downloads = async () => (await list()).skills.find(({ id }) => id === 'tour-planner')?.downloads
  expect(await downloads()).toBe(1)
  expect(await (await remove('tour-planner')).json()).toEqual({ success: true })
  await install('tour-planner')
  expect(await downloads()).toBe(1)
  await (await join('bo@example.com', 'solo')).install('tour-planner')
  expect(await downloads()).toBe(2)
  expect((await enable('tour-planner', false)).status).toBe(200)
  expect((await list(`?agentId=${agent.id}`)).installed).toMatchObject([{ skillId: 'tour-planner', enabled: false }])
  expect((await read(InstallResponse, install('tour-planner'))).installed.enabled).toBe(true)
  expect((await list(`?agentId=${other.id}`)).installedSkillIds).toEqual(['tour-planner'])
})

test('POST, PATCH, DELETE /api/skills: 400 without both ids, 404 when missing and for other users’ agents, 401 without a session', async () => {
  const { web, install, enable, remove, agent, join, list } = await openTestPlatform()
  const eve = await join('eve@example.com', 'network')
  for (const method of ['POST', 'PATCH', 'DELETE'] as const) {
    expect((await web.request(PATH, json(method, { skillId: 'tour-planner', agentId: agent.id }))).status).toBe(401)
  }
  const missing = await install('tour-planner', '')
  expect([missing.status, await missing.json()]).toEqual([400, { error: 'skillId and agentId are required' }])
  const responses: [Promise<Response>, string][] = [
    [install('nothing'), 'Skill not found'],
    [install('tour-planner', 'nobody'), 'Agent not found'],
    [eve.install('tour-planner', agent.id), 'Agent not found'],
    [enable('tour-planner', true), 'Skill is not installed'],
    [eve.enable('tour-planner', false, agent.id), 'Agent not found'],
  ]
  for (const [response, error] of responses) {
    expect([(await response).status, await (await response).json()]).toEqual([404, { error }])
  }
  await install('tour-planner')
  expect((await eve.remove('tour-planner', agent.id)).status).toBe(200)
  expect((await list()).installedSkillIds).toEqual(['tour-planner'])
  expect((await remove('nothing')).status).toBe(200)
})

test('POST /api/skills: 429 at the plan’s skills, also when concurrent; 402 without a plan', async () => {
  const { install, enable, list, other } = await openTestPlatform({ plan: 'label' })
  const names = ['tour-planner', 'release-planner', 'venue-finder', 'guestlist-manager', 'press-release-writer']
  const statuses = await Promise.all(names.map(async (name) => (await install(name)).status))
  expect(statuses.sort()).toEqual([200, 200, 200, 429, 429])
  const [first = ''] = (await list()).installedSkillIds
  expect((await install(first, other.id)).status).toBe(200)
  const refused = await install('event-scheduler')
  expect([refused.status, await refused.json()]).toEqual([429, { error: 'Skill limit reached', current: 3, limit: 3 }])
  for (const agentId of [undefined, other.id]) await enable(first, false, agentId)
  expect((await install('event-scheduler')).status).toBe(200)
  expect((await enable(first, true)).status).toBe(429)
  expect((await list()).limit).toEqual({ used: 3, allowed: 3 })
  const poor = await openTestPlatform({ plan: null })
  expect(await (await poor.install('tour-planner')).json()).toMatchObject({ code: 'PLAN_REQUIRED' })
})

test('POST /api/skills/create: 200 stores a SKILL.md with a new version when it changes; GET and DELETE /api/skills/:name are for its owner', async () => {
  const { create, list, install, use, join, web, cookie } = await openTestPlatform()
  const { skill } = await read(CreatedSkill, create({ skillMd: MINE }))
  expect(skill).toMatchObject({
    id: 'my-skill',
    name: 'My skill',
    category: 'custom',
    author: 'you',
    source: 'own',
    version: '1',
    checksum: sha256(MINE),
    hasActions: false,
  })
  expect((await read(CreatedSkill, create({ skillMd: MINE }))).skill.version).toBe('1')
  expect((await read(CreatedSkill, create({ skillMd: `${MINE}Twice.\n` }))).skill.version).toBe('2')
  expect((await install('my-skill')).status).toBe(200)
  const detail = await read(SkillDetail, web.request(`${PATH}/my-skill`, { headers: cookie }))
  expect(detail.content).toBe(`${MINE}Twice.\n`)
  const eve = await join('eve@example.com', 'network')
  expect((await eve.list()).skills.map(({ id }) => id)).not.toContain('my-skill')
  for (const response of [
    eve.install('my-skill'),
    eve.use('my-skill', { input: 'Hi' }),
    web.request(`${PATH}/my-skill`, { headers: eve.cookie }),
    web.request(`${PATH}/my-skill`, { method: 'DELETE', headers: eve.cookie }),
    use('nothing', {}),
  ]) {
    expect([(await response).status, await (await response).json()]).toEqual([404, { error: 'Skill not found' }])
  }
  expect((await web.request(`${PATH}/my-skill`, { method: 'DELETE', headers: cookie })).status).toBe(200)
  const after = await list()
  expect([after.skills.some(({ id }) => id === 'my-skill'), after.installedSkillIds]).toEqual([false, []])
})

test('POST /api/skills/create: 200 from parts; 409 when the name is taken', async () => {
  const { create } = await openTestPlatform()
  const parts = { name: 'Wörter: "zählen"', description: 'a: b\n"c"', category: 'Own', code: 'Count words.' }
  const { skill } = await read(CreatedSkill, create(parts))
  expect(skill).toMatchObject({ id: 'wo-rter-za-hlen', description: 'a: b\n"c"', category: 'own' })
  expect((await create(parts)).status).toBe(200)
  for (const change of [{ code: 'Other.' }, { name: 'Tour planner' }, { name: 'create' }]) {
    expect((await create({ ...parts, ...change })).status).toBe(409)
  }
  for (const body of [{}, { name: 'a' }, { ...parts, name: '!!' }, { ...parts, code: 'x'.repeat(2001) }, { more: 1 }]) {
    expect((await create(body)).status).toBe(400)
  }
})

test.each([
  'no front matter',
  '---\nname: a\n---\nText',
  '---\ndescription: a\n---\nText',
  '---\nname: A b\ndescription: c\n---\nText',
  '---\nname: a\ndescription: c\n---\n',
  '---\nname: [\n---\nText',
  '---\nname: ../a\ndescription: c\n---\nText',
  `---\nname: a\ndescription: ${'c'.repeat(1025)}\n---\nText`,
])('POST /api/skills/create: 400 when the SKILL.md is %j', async (skillMd) => {
  const { create } = await openTestPlatform()
  expect((await create({ skillMd })).status).toBe(400)
})

test('GET /v1/skills: 200 with the agent’s enabled skills, up to the limit of its owner’s plan', async () => {
  const { install, enable, create, loaded, backend, platform, user } = await openTestPlatform()
  await create({ skillMd: MINE })
  for (const name of ['my-skill', 'tour-planner', 'venue-finder', 'release-planner']) await install(name)
  await enable('tour-planner', false)
  const names = async () => (await loaded()).skills.map(({ name }) => name)
  expect(await names()).toEqual(['my-skill', 'venue-finder', 'release-planner'])
  expect((await loaded()).skills[0]?.instructions).toBe('# My skill\n\nSay hello.')
  expect((await backend.request('/v1/skills')).status).toBe(401)
  await enable('tour-planner', true)
  await write(platform.db, (tx) => tx.update(users).set({ plan: 'label' }).where(eq(users.id, user.id)).run())
  expect(await names()).toEqual(['my-skill', 'tour-planner', 'venue-finder'])
})

test('POST /api/skills/:name: 200 when a model gets instructions and input; 503 without a model, 400 without input', async () => {
  const { use } = await openTestPlatform({
    providers: [createEchoProvider({ newId: () => 'chat_1', nowSeconds: () => 1 })],
  })
  const body = await read(Used, use('tour-planner', { input: 'Berlin on Friday' }))
  expect(body).toMatchObject({ skill: 'tour-planner', model: 'local/echo', output: expect.stringContaining('Berlin') })
  expect((await use('tour-planner', {})).status).toBe(400)
  const silent = await openTestPlatform()
  const response = await silent.use('tour-planner', { input: 'Hi' })
  expect([response.status, await response.json()]).toMatchObject([503, { code: 'NOT_CONFIGURED' }])
  const poor = await openTestPlatform({ plan: null, providers: [modelThatSays('Hi')] })
  expect((await poor.use('tour-planner', { input: 'Hi' })).status).toBe(402)
})

test('POST /api/skills/event-scheduler: 200 schedules, lists the next and cancels; 404 for a stranger’s entry', async () => {
  const { use, clock, join } = await openTestPlatform()
  const eve = await join('eve@example.com', 'network')
  clock.set(new Date('2026-05-05T12:00:00Z'))
  const schedule = (title: string, date: string, time?: string) =>
    use('event-scheduler', { action: 'schedule', title, date, time, channels: ['telegram'] })
  const Entry = z.object({ event: z.looseObject({ id: z.string() }) })
  const later = await read(Entry, schedule('Later', '2026-05-07', '20:30'))
  expect(later.event).toMatchObject({ date: '2026-05-07', time: '20:30', channels: ['telegram'], status: 'scheduled' })
  await schedule('Past', '2026-05-04')
  await schedule('Next', '2026-05-06', '09:00')
  const titles = async (action: string) => {
    const { events } = await read(
      z.object({ events: z.array(z.looseObject({ title: z.string() })) }),
      use('event-scheduler', { action }),
    )
    return events.map(({ title }) => title)
  }
  expect(await titles('list')).toEqual(['Past', 'Next', 'Later'])
  expect(await titles('upcoming')).toEqual(['Next', 'Later'])
  const cancel = { action: 'cancel', id: later.event.id }
  expect((await eve.use('event-scheduler', cancel)).status).toBe(404)
  expect((await use('event-scheduler', cancel)).status).toBe(200)
  expect(await titles('upcoming')).toEqual(['Next'])
  for (const body of [
    {},
    { action: 'fly' },
    { action: 'schedule', title: 'x', date: '2026-02-30' },
    { action: 'cancel' },
  ]) {
    expect((await use('event-scheduler', body)).status).toBe(400)
  }
})

test('POST /api/skills/venue-finder and festival-finder: 200 with coming events of all users', async () => {
  const { use, platform, clock, agent, user } = await openTestPlatform()
  clock.set(new Date('2026-05-05T12:00:00Z'))
  const add = (name: string, venue: string, date: string, price: number, totalTickets: number) =>
    write(platform.db, (tx) =>
      tx
        .insert(events)
        .values({
          ownerId: user.id,
          agentId: agent.id,
          localAgentId: agent.id,
          name,
          description: 'Techno',
          venue,
          eventDate: new Date(date),
          ticketPriceMicroUsd: price * 1_000_000,
          pricePlaces: 2,
          totalTickets,
          createdAt: clock.now(),
        })
        .returning()
        .get(),
    )
  await add('Over', 'Cellar, Berlin', '2026-05-01', 1, 10)
  const small = await add('Small', 'Cellar, Berlin', '2026-06-01T20:00:00Z', 10, 100)
  const big = await add('Big', 'Arena, Berlin', '2026-07-01', 50, 9000)
  await add('Far', 'Dome, Oslo', '2026-08-01', 20, 500)
  const venues = async (body: object) => {
    const answer = await read(
      z.object({ venues: z.array(z.looseObject({ name: z.string() })) }),
      use('venue-finder', { action: 'search', ...body }),
    )
    return answer.venues.map(({ name }) => name)
  }
  expect(await venues({ city: 'BERLIN' })).toEqual(['Cellar, Berlin', 'Arena, Berlin'])
  expect(await venues({ city: 'berlin', capacity: 1000 })).toEqual(['Arena, Berlin'])
  expect(await venues({ maxPrice: 20 })).toEqual(['Cellar, Berlin', 'Dome, Oslo'])
  const at = { venue: 'Cellar, Berlin' }
  expect(await (await use('venue-finder', { action: 'detail', ...at })).json()).toMatchObject({
    venue: { name: 'Cellar, Berlin', comingEvents: 1, lowestPriceUsdc: '10.00', largestEvent: 100 },
  })
  const isTaken = async (date: string) =>
    (await read(z.looseObject({ hasEvent: z.boolean() }), use('venue-finder', { action: 'availability', ...at, date })))
      .hasEvent
  expect([await isTaken('2026-06-01'), await isTaken('2026-06-02')]).toEqual([true, false])
  expect((await use('venue-finder', { action: 'detail', venue: 'Nowhere' })).status).toBe(404)

  await write(platform.db, (tx) =>
    tx
      .insert(bookings)
      .values({
        id: 'bk_1',
        messageId: 'm',
        eventId: big.id,
        talentName: 'DJ Bo',
        venue: '',
        guaranteeMicroUsd: 0,
        backendMicroUsd: 0,
        depositMicroUsd: 0,
        status: 'confirmed',
        createdAt: clock.now(),
        updatedAt: clock.now(),
      })
      .run(),
  )
  const festival = async (body: object) => (await use('festival-finder', body)).json()
  expect(await festival({ action: 'search', genre: 'techno', country: 'Oslo' })).toMatchObject({ count: 1 })
  expect(await festival({ action: 'detail', eventId: small.id })).toMatchObject({ festival: { ticketsLeft: 100 } })
  expect(await festival({ action: 'lineup', eventId: big.id })).toEqual({
    success: true,
    eventId: big.id,
    lineup: ['DJ Bo'],
  })
  expect(await festival({ action: 'compare', eventIds: [small.id, big.id] })).toMatchObject({
    festivals: [{ name: 'Small' }, { name: 'Big' }],
  })
  expect((await use('festival-finder', { action: 'detail', eventId: 1 })).status).toBe(404)
  expect((await use('festival-finder', { action: 'search', maxPrice: '1e2' })).status).toBe(400)
})

test('POST /api/skills/setlist-oracle: 200 with a set from a model and its cost; 502 when the answer is invalid', async () => {
  const reply =
    'Here: ```json\n{"setlist":[{"title":"A","artist":"B","minutes":6},{"title":"C","artist":"D","minutes":7}]}\n```'
  const { use } = await openTestPlatform({ providers: [modelThatSays(reply)] })
  expect(await (await use('setlist-oracle', { action: 'build', genre: 'house', duration: 30 })).json()).toMatchObject({
    success: true,
    setlist: [{ title: 'A' }, { title: 'C' }],
    stats: { tracks: 2, minutes: 13, wantedMinutes: 30 },
  })
  expect(await (await use('setlist-oracle', { action: 'analyze', setlist: ['A'] })).json()).toMatchObject({
    analysis: reply,
  })
  const dull = await openTestPlatform({ providers: [modelThatSays('I cannot')] })
  expect((await dull.use('setlist-oracle', { action: 'build', genre: 'house' })).status).toBe(502)
  expect((await dull.use('setlist-oracle', { action: 'build' })).status).toBe(400)
})

test.each([
  'none',
  '<svg><script>1</script></svg>',
  '<svg onload="1"></svg>',
  '<svg><image href="https://a.b/c"/></svg>',
])('POST /api/skills/visual-synthesizer: 502 when the answer is %j, which is no image', async (reply) => {
  const { use } = await openTestPlatform({ providers: [modelThatSays(reply)] })
  expect((await use('visual-synthesizer', { prompt: 'A cat' })).status).toBe(502)
})

test('POST /api/skills/visual-synthesizer: 200 with the image; 503 without a model', async () => {
  const { use } = await openTestPlatform({
    providers: [modelThatSays('Sure! <svg viewBox="0 0 1 1"><rect/></svg> Done.')],
  })
  const { imageUrl } = await read(
    z.looseObject({ imageUrl: z.string() }),
    use('visual-synthesizer', { prompt: 'A cat' }),
  )
  expect(Buffer.from(imageUrl.replace('data:image/svg+xml;base64,', ''), 'base64').toString()).toBe(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><rect/></svg>',
  )
  expect((await use('visual-synthesizer', {})).status).toBe(400)
  const silent = await openTestPlatform()
  expect((await silent.use('visual-synthesizer', { prompt: 'A cat' })).status).toBe(503)
})

test('every built-in skill has all its fields and its own description', () => {
  for (const [name, { content, description }] of BUILT_IN) {
    const { instructions } = parseSkillText(content)
    expect(content).toContain(`name: ${name}\n`)
    expect(description).toContain('Use it ')
    expect(instructions).toStartWith('# ')
  }
})
