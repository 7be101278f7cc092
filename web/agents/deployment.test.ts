import { expect, test } from 'bun:test'
import { advance, type Deployment } from './deployment.ts'

const begun: Deployment = { reached: 0, outcome: 'working', error: null }

test('advance never goes back a step', () => {
  const atHealth = advance(begun, { status: 'provisioning', step: 'health', error: null })
  expect(atHealth).toEqual({ reached: 3, outcome: 'working', error: null })
  expect(advance(atHealth, { status: 'provisioning', step: 'port', error: null })).toEqual(atHealth)
  expect(advance(atHealth, { status: 'provisioning', step: null, error: null })).toEqual(atHealth)
})

test('advance keeps the failed step and its reason', () => {
  const atPort = advance(begun, { status: 'provisioning', step: 'port', error: null })
  const failed = advance(atPort, { status: 'error', step: 'failed', error: 'No port is free.' })
  expect(failed).toEqual({ reached: 1, outcome: 'failed', error: 'No port is free.' })
})

test('advance completes all steps when the agent is running', () => {
  expect(advance(begun, { status: 'running', step: null, error: null }).outcome).toBe('running')
})
