import PushModel
import PushTime
import TestSupport
import Testing

@Suite struct ExpiryTests {
    private static let policy = Expiry.Policy(unlimited: .seconds(100), singleAttempt: .seconds(10))

    @Test(arguments: [nil, 0, 1, -1, 1_767_225_600, .max, .min] as [Int64?])
    func `The number of a request is kept`(expiresAt: Int64?) {
        #expect(Expiry(expiresAt: expiresAt).expiresAt == expiresAt)
        #expect(Expiry(expiresAt: expiresAt).isSingleAttempt == (expiresAt == 0))
    }

    @Test func `Only a time of the producer makes a request expired`() {
        #expect(!Expiry.unlimited.isPast(at: .distantFuture))
        #expect(!Expiry.singleAttempt.isPast(at: .distantFuture))
        #expect(!Expiry.at(50).isPast(at: 49_999))
        #expect(Expiry.at(50).isPast(at: 50_000))
    }

    @Test(
        arguments: [
            (Expiry.unlimited, 1000, WallTime.distantPast, 101_000), (.unlimited, 1000, 90_000, 101_000),
            (.singleAttempt, 1000, .distantPast, 11_000), (.singleAttempt, 1000, 90_000, 100_000),
            (.at(50), 1000, .distantPast, 50_000), (.at(50), 90_000, 90_000, 50_000),
            (.unlimited, .distantFuture, .distantPast, .distantFuture),
            (.at(UnixSeconds(.max)), 0, .distantPast, WallTime(seconds: .max)),
        ] as [(Expiry, WallTime, WallTime, WallTime)])
    func `The end follows from the producer's time or the policy`(
        expiry: Expiry, begin: WallTime, lastSentAt: WallTime, end: WallTime
    ) {
        #expect(expiry.end(from: begin, lastSentAt: lastSentAt, under: Self.policy) == end)
    }

    @Test(arguments: [
        (Expiry.unlimited, UnixSeconds?.none, UnixSeconds?.none), (.singleAttempt, nil, nil), (.at(50), nil, 50),
        (.at(50), 40, 40), (.unlimited, 40, 40), (.unlimited, -7, 1), (.at(UnixSeconds(.max)), nil, nil),
        (.unlimited, UnixSeconds(Int64(UInt32.max)), UnixSeconds(Int64(UInt32.max))),
        (.unlimited, UnixSeconds(Int64(UInt32.max) + 1), nil),
    ])
    func `A delivery expires at its deadline, by default the producer's time`(
        expiry: Expiry, given: UnixSeconds?, expected: UnixSeconds?
    ) {
        let message = Message(id: MessageID("m")!, app: AppID("shop")!, expiry: expiry, payload: [])
        let delivery = Delivery(
            ticket: 1, message: message, token: Address(words: (1, 2, 3, 4)), deliveryID: DeliveryID(high: 1, low: 2),
            deadline: given)
        #expect(delivery.deadline == expected)
        if let expected {
            let end = WallTime(expected)
            #expect(!delivery.isExpired(at: end - 1) && delivery.isExpired(at: end))
        } else {
            #expect(!delivery.isExpired(at: WallTime(seconds: .max)))
        }
    }

    @Test(arguments: [
        (Int64?.none, UnknownPolicy.resend, false), (nil, .drop, true), (0, .resend, true), (0, .drop, true),
        (50, .resend, false), (50, .drop, true),
    ])
    func `A single attempt is not repeated, and an unanswered one only if the producer allows it`(
        expiresAt: Int64?, policy: UnknownPolicy, isFinal: Bool
    ) {
        let message = Message(
            id: MessageID("m")!, app: AppID("shop")!, expiry: Expiry(expiresAt: expiresAt), payload: [],
            onUnknown: policy)
        #expect(DeliveryOutcome.unanswered(.timeout, of: message) == .unknown(.timeout, isFinal: isFinal))
        let busy = Refusal(status: 503, reason: nil)
        let refused = DeliveryOutcome.refused(busy, retryAfter: .seconds(3), of: message)
        #expect(refused == (expiresAt == 0 ? .rejected(busy, deactivates: nil) : .retry(busy, after: .seconds(3))))
        #expect(refused.final == (expiresAt == 0 ? .rejected : nil))
    }
}
