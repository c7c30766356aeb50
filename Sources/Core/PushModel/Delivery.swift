package import PushTime

/// One message for one device: the unit of deduplication, of attempts and of answers.
package struct Delivery: Sendable {
    /// The owner's name for the delivery, unique within the gateway. It comes back with the outcome.
    package let ticket: UInt64
    package let message: Message
    package let token: Address
    package let deliveryID: DeliveryID
    /// The number of attempts that were written to a connection, including those that the provider is known not to have
    /// processed.
    package var attempt: UInt16
    /// Seconds since 1970, 0 for none. A `UInt32` fits into the padding at the end of the structure.
    private var deadlineSeconds: UInt32

    /// - Parameter deadline: The time from which on no attempt may begin; by default the time that the producer gave.
    package init(
        ticket: UInt64, message: Message, token: Address, deliveryID: DeliveryID, attempt: UInt16 = 0,
        deadline: UnixSeconds? = nil
    ) {
        self.ticket = ticket
        self.message = message
        self.token = token
        self.deliveryID = deliveryID
        self.attempt = attempt
        deadlineSeconds = 0
        if let deadline {
            self.deadline = deadline
        } else if case .at(let time) = message.expiry {
            self.deadline = time
        }
    }

    /// The time from which on no attempt may begin; nil if there is none. Times after 2106 count as none.
    package var deadline: UnixSeconds? {
        get { deadlineSeconds == 0 ? nil : UnixSeconds(Int64(deadlineSeconds)) }
        set { deadlineSeconds = newValue.map { UInt32(exactly: max(1, $0.value)) ?? 0 } ?? 0 }
    }

    /// Whether it is too late for an attempt.
    package func isExpired(at time: WallTime) -> Bool {
        deadlineSeconds != 0 && time.seconds >= Int64(deadlineSeconds)
    }

    /// Whether an attempt may begin: it is not too late, and the message was not cancelled.
    package func mayBegin(at time: WallTime) -> Bool { !isExpired(at: time) && !message.isWithdrawn }
}

/// The report of a gateway about one delivery, which is the only one for this submission.
package struct DeliveryReport: Sendable {
    package let delivery: Delivery
    /// The outcome; nil if the delivery comes back unchanged, because the gateway closed or does not know the app.
    package let outcome: DeliveryOutcome?
    /// The time from sending the last attempt to its answer.
    package let latency: Duration

    package init(of delivery: Delivery, _ outcome: DeliveryOutcome?, latency: Duration) {
        self.delivery = delivery
        self.outcome = outcome
        self.latency = latency
    }
}
