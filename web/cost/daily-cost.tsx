import { useState } from 'react'
import type { CostDashboard } from '../../src/features/ai/usage/schemas.ts'
import { Button } from '../ui/button.tsx'
import { cellClass, Panel, TableFrame } from '../ui/panel.tsx'
import { DailyChart } from './daily-chart.tsx'
import { formatCost, formatCount } from './figures.ts'

export function DailyCost({ daily }: { daily: CostDashboard['daily'] }) {
  const [isTable, setTable] = useState(false)
  return (
    <Panel
      title="Per day"
      actions={
        <Button look="ghost" aria-pressed={isTable} onClick={() => setTable(!isTable)}>
          Show as table
        </Button>
      }
    >
      {isTable ? (
        <DailyTable daily={daily} />
      ) : (
        <div className="grid grid-cols-1 gap-5 px-2 pb-4 sm:px-3">
          <DailyChart title="Cost" daily={daily} measure="cost" />
          <DailyChart title="Tokens" daily={daily} measure="tokens" />
        </div>
      )}
    </Panel>
  )
}

function DailyTable({ daily }: { daily: CostDashboard['daily'] }) {
  return (
    <TableFrame label="Cost and tokens per day" columns={{ Day: 'text', Cost: 'number', Tokens: 'number' }}>
      {daily.map(({ date, cost, tokens }) => (
        <tr key={date}>
          <th scope="row" className={`${cellClass('text')} font-normal`}>
            {date}
          </th>
          <td className={cellClass('number')}>{formatCost(cost)}</td>
          <td className={cellClass('number')}>{formatCount(tokens)}</td>
        </tr>
      ))}
    </TableFrame>
  )
}
