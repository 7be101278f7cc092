import { cellClass } from '../ui/panel.tsx'
import { formatCompact, formatCost, formatCount } from './figures.ts'

/** Cost, calls and tokens of a row, in this order. */
export function UseCells({ costUsd, calls, tokens }: { costUsd: number; calls: number; tokens: number }) {
  return (
    <>
      <td className={`${cellClass('number')} font-medium`}>{formatCost(costUsd)}</td>
      <td className={cellClass('number')}>{formatCount(calls)}</td>
      <td className={cellClass('number')} title={formatCount(tokens)}>
        {formatCompact(tokens)}
      </td>
    </>
  )
}
