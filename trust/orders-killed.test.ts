import { ordersKilled } from './orders-killed.ts'
import { testShortForm } from './short-form.ts'

testShortForm(ordersKilled)
