import PushModel
import PushTime
import Testing

@testable import PushServer

@Suite struct OutcomeCountsTests {
    private func record(_ outcome: DeliveryOutcome, of app: AppID) throws -> DeliveryRecord {
        let message = Message(id: try #require(MessageID("m")), app: app, payload: [])
        return DeliveryRecord(
            seq: 1, fingerprint: MessageFingerprint(1), acceptedAt: 1000, message: message, device: .none,
            deliveryID: DeliveryID(high: 1, low: 2), attempt: 1, outcome: outcome)
    }

    @Test func `A lost answer counts as the end of a delivery only if it is one`() throws {
        let counts = PushServer.OutcomeCounts { 2000 }
        let app = try #require(AppID("shop"))
        let refusal = Refusal(status: 503, reason: nil)
        counts.take(
            try [
                .unknown(.timeout, isFinal: false), .unknown(.reset, isFinal: false), .unknown(.timeout, isFinal: true),
                .retry(refusal, after: .seconds(1)), .sent(providerID: nil),
            ].map { try record($0, of: app) }, completed: [])
        for one in [counts.counts(of: app), counts.sum()] {
            #expect(one.unknown == 1 && one.sent == 1)
            #expect(one.deferred == 1 && one.retries == 3 && one.lostAnswers == 3)
        }
    }
}
