import { useMutation } from '@tanstack/react-query'
import { openPayPage } from './billing-api.ts'

export function usePay() {
  return useMutation({ mutationFn: openPayPage, onSuccess: (url) => location.assign(url) })
}
