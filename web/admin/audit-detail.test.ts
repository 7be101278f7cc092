import { expect, test } from 'bun:test'
import { describeDetail } from './audit-detail.ts'

test('describeDetail: a pair is a change, anything else a fact', () => {
  expect(describeDetail({ plan: ['free', 'solo'], ended: 3, via: 'link' })).toEqual([
    'plan: free → solo',
    'ended: 3',
    'via: link',
  ])
  expect(describeDetail({})).toEqual([])
  expect(describeDetail(null)).toEqual([])
})
