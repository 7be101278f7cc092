import { useMutation } from '@tanstack/react-query'
import { openPayPage } from './billing-api.ts'

/** Leads the browser to a page of the card service. */
export function usePay() {
  return useMutation({ mutationFn: openPayPage, onSuccess: (url) => location.assign(url) })
}
