import { expect, test } from 'bun:test'
import { describeDeliveries } from './descriptions.ts'

const ON_ITS_WAY = { dueAt: '2026-11-20T12:00:00.000Z', attempts: 0, error: null, sentAt: null }

test('describeDeliveries lists every channel, also deleted ones', () => {
  const deliveries = [
    { ...ON_ITS_WAY, channelId: 'mail', sentAt: ON_ITS_WAY.dueAt },
    { ...ON_ITS_WAY, channelId: 'nch_1', error: 'answered 503', attempts: 2 },
    { ...ON_ITS_WAY, channelId: 'nch_2' },
  ]
  expect(describeDeliveries({ deliveries }, [{ id: 'nch_1', name: 'Team' }])).toBe(
    'sent by mail, Team answered 503, queued for a deleted channel',
  )
  expect(describeDeliveries({ deliveries: [] }, [])).toBe('Not sent: no channel is subscribed to this type.')
})
