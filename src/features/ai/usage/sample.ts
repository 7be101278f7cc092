import type { CostDashboard, CostQuery } from './schemas.ts'

const AGENTS = [
  { name: 'Sample research agent', model: 'anthropic/claude-opus-4.6', tokens: 820_000, cost: 6.15, calls: 205 },
  { name: 'Sample support agent', model: 'openai/gpt-4o-mini', tokens: 1_400_000, cost: 0.42, calls: 700 },
]

/** Figures that show what the page will look like; marked as a sample wherever they appear (decisions, 30). */
export function sampleDashboard(period: CostQuery['period'], labels: string[], message: string): CostDashboard {
  const totalCost = AGENTS.reduce((total, agent) => total + agent.cost, 0)
  const totalTokens = AGENTS.reduce((total, agent) => total + agent.tokens, 0)
  const totalCalls = AGENTS.reduce((total, agent) => total + agent.calls, 0)
  return {
    period,
    summary: {
      ...{ totalCost, totalTokens, totalCalls, avgCostPerCall: totalCost / totalCalls },
      ...{ estimatedCost: 0, estimatedTokens: 0 },
    },
    agents: AGENTS.map((agent) => ({ ...agent, avgCostPerCall: agent.cost / agent.calls, estimatedTokens: 0 })),
    daily: labels.map((date) => ({
      date,
      cost: totalCost / labels.length,
      tokens: Math.round(totalTokens / labels.length),
    })),
    modelBreakdown: AGENTS.map(({ model, cost }) => ({
      model,
      cost,
      percent: Math.round((cost / totalCost) * 1000) / 10,
    })),
    isMockData: true,
    message,
  }
}
