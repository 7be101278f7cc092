import { expect, test } from 'bun:test'
import { readConfig } from '../../core/config.ts'
import { hostRuleOf } from './hosts.ts'

test('hostRuleOf accepts the host of CLUSTER_NODE_URL, which other nodes forward requests to', () => {
  const settings = {
    AGENT_RUNTIME: 'swarm',
    ENCRYPTION_KEY: 'a-key-that-all-nodes-share-0123456789',
    CLUSTER_LOG_URL: 'postgres://stead@log.example/stead',
    CLUSTER_NODE_URL: 'http://node-1.example:3001',
    OBJECTS_URL: 'file:/srv/stead-objects',
  }
  expect(hostRuleOf(readConfig(settings))('node-1.example:3001')).toBe('served')
  expect(hostRuleOf(readConfig(settings))('node-2.example:3001')).toBe('misdirected')
})
