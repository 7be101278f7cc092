import { expect, test } from 'bun:test'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fails } from '../../../tests/harness/doubles/platform.ts'
import { startOwnedAgent } from '../../../tests/harness/owned-agent.ts'
import { startTestAgent } from '../../../tests/harness/test-agent.ts'

const SKILL = { name: 'tour-planner', description: 'Plans a tour.', instructions: '# Tour planner\n\nRest days first.' }

test('an installed skill is available from the next turn until it is removed', async () => {
  await using agent = await startTestAgent()
  await agent.chat('Hi')
  expect(agent.prompt()).not.toContain('use_skill')
  agent.platform.skills.push(SKILL)
  expect(JSON.parse(await agent.runTool('use_skill', { name: 'tour-planner' }))).toEqual({
    instructions: SKILL.instructions,
  })
  expect(agent.prompt()).toContain('- tour-planner: Plans a tour.')
  expect(agent.prompt()).not.toContain('Rest days first.')
  expect(await agent.runTool('use_skill', { name: 'other' })).toContain('There is no skill other')
  agent.platform.skills.pop()
  await agent.chat('Hi')
  expect(agent.prompt()).not.toContain('tour-planner')
})

test('a model gets the instructions of all skills when it does not support tools', async () => {
  await using agent = await startTestAgent()
  agent.platform.skills.push(SKILL)
  agent.platform.next(fails(400, 'This model does not support tools'))
  expect((await agent.chat('Hi')).status).toBe(200)
  expect(agent.prompt()).toContain('Rest days first.')
})

const OWN =
  '---\nname: packing\ndescription: Packs\n  a suitcase.\n---\n# Packing\n\nSocks first. See lists/socks.md.\n'

test('a workspace folder with SKILL.md is a skill, listed by its description and read whole when used', async () => {
  await using agent = await startTestAgent()
  const folder = join(agent.folder, 'workspace/skills/packing')
  await mkdir(join(folder, 'lists'), { recursive: true })
  await writeFile(join(folder, 'SKILL.md'), OWN)
  await writeFile(join(folder, 'lists/socks.md'), 'wool')
  await mkdir(join(agent.folder, 'workspace/skills/broken'))
  await writeFile(join(agent.folder, 'workspace/skills/broken/SKILL.md'), 'no front matter')
  expect(JSON.parse(await agent.runTool('use_skill', { name: 'packing' }))).toEqual({
    instructions: '# Packing\n\nSocks first. See lists/socks.md.',
    folder: 'skills/packing',
  })
  expect(agent.prompt()).toContain('- packing: Packs a suitcase.')
  expect(agent.prompt()).not.toContain('Socks first')
  expect(agent.prompt()).not.toContain('broken')
  expect(await agent.runTool('read_file', { path: 'skills/packing/lists/socks.md' })).toContain('wool')
})

test('an installed skill is not replaced when a workspace file has its name', async () => {
  await using agent = await startTestAgent()
  agent.platform.skills.push({ ...SKILL, name: 'packing' })
  await mkdir(join(agent.folder, 'workspace/skills/packing'), { recursive: true })
  await writeFile(join(agent.folder, 'workspace/skills/packing/SKILL.md'), OWN)
  expect(await agent.runTool('use_skill', { name: 'packing' })).toContain('Rest days first.')
})

test('writing a skill waits for the owner’s approval, whatever the spelling of its path', async () => {
  await using agent = await startOwnedAgent({}, { approvalWaitMs: 500 })
  await writeFile(join(agent.running.folder, 'workspace/a.md'), OWN)
  const paths = ['skills/evil/SKILL.md', './skills//evil/SKILL.md', 'Skills/evil/SKILL.md']
  for (const path of paths) {
    expect(await agent.running.runTool('write_file', { path, content: OWN })).toContain('has not answered')
    expect(await agent.running.runTool('move_file', { from: 'a.md', to: path })).toContain('has not answered')
  }
  expect(await readdir(join(agent.running.folder, 'workspace'))).toEqual(['a.md'])
  expect(await agent.list('?status=waiting')).toHaveLength(6)
})

test('use_skill runs scripts when the runtime is confined, and else returns the reason', async () => {
  const addSkill = async (agent: { folder: string }) => {
    const folder = join(agent.folder, 'workspace/skills/packing')
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'SKILL.md'), OWN)
    await writeFile(join(folder, 'pack.sh'), 'echo packed')
  }
  await using confined = await startTestAgent({ isConfined: true })
  await addSkill(confined)
  const use = async (agent: typeof confined) => JSON.parse(await agent.runTool('use_skill', { name: 'packing' }))
  expect(await use(confined)).toMatchObject({
    scripts: ['skills/packing/pack.sh'],
    howToRun: expect.stringContaining('Run them with run_shell'),
  })
  confined.platform.toolSettings.tools = ['use_skill']
  expect((await use(confined)).howToRun).toContain('run_shell is switched off')
  await using agent = await startTestAgent()
  await addSkill(agent)
  expect((await use(agent)).howToRun).toContain('nothing confines them')
})
