import Testing

@testable import PushServer

@Suite struct CredentialExpiryTests {
    @Test(
        arguments: [
            (0, "less than an hour"), (-5, "less than an hour"), (3599, "less than an hour"), (3600, "1 hour"),
            (86_399, "23 hours"), (86_400, "1 day"), (172_799, "1 day"), (30 * 86_400, "30 days"),
        ] as [(Int64, String)])
    func `The time left is in days, or in hours if there is less than a day`(_ seconds: Int64, _ text: String) {
        #expect(CredentialExpiry.timeLeft(seconds: seconds) == text)
    }
}
