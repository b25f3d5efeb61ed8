/** Holds the texts of the page; every language has the same fields. */
export const en = {
  /** Names the language, in the language itself. */
  language: 'English',
  parcel: 'Parcel',
  /** Labels the sender's name. */
  from: 'From',
  to: 'To',
  /** Labels the line that says where to reach the company. */
  contact: 'Questions',
  pay: 'Have ready when it arrives',
  /** Precedes the day on which the company tries again. */
  nextOn: 'Next attempt:',
  /** Describes a picture to who cannot see it. */
  photo: 'Photo of the door',
  nothingToPay: 'There is nothing to pay.',
  stages: {
    booked: { title: 'Booked', text: 'The sender has booked the parcel. It will be picked up.' },
    on_its_way: { title: 'On its way', text: 'We have the parcel, and it is on its way.' },
    out_for_delivery: { title: 'Out for delivery', text: 'The rider is bringing the parcel to you.' },
    delivered: { title: 'Delivered', text: 'The parcel was delivered.' },
    partly_delivered: {
      title: 'Partly delivered',
      text: 'A part of the parcel was delivered. The rest goes back to the sender.',
    },
    delayed: { title: 'Not delivered yet', text: 'The parcel could not be delivered. We will try again.' },
    returned: { title: 'Returned', text: 'The parcel goes back to the sender.' },
    cancelled: { title: 'Cancelled', text: 'The sender cancelled the parcel.' },
  },
  unknown: {
    title: 'There is no such parcel',
    text: 'Compare the number with the one on the label or in the message.',
  },
}

export type Words = typeof en
