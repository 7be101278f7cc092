import { expect, test } from 'bun:test'
import { fails } from '../../../tests/harness/doubles/platform.ts'
import { startTestAgent } from '../../../tests/harness/test-agent.ts'

const SKILL = { name: 'tour-planner', description: 'Plans a tour.', instructions: '# Tour planner\n\nRest days first.' }

test('a skill that its owner installs is known at the next turn, is read by a tool, and is gone when it is removed', async () => {
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

test('a model without tools is told the instructions themselves', async () => {
  await using agent = await startTestAgent()
  agent.platform.skills.push(SKILL)
  agent.platform.next(fails(400, 'This model does not support tools'))
  expect((await agent.chat('Hi')).status).toBe(200)
  expect(agent.prompt()).toContain('Rest days first.')
})
