import PushModel
import Testing

@testable import APNs

@Suite struct ReasonTableTests {
    private let reasons = ReasonTable.apns

    /// The expected dispositions, written independently of the table from Documentation/Protocols.md, "A7. Status and
    /// reason" and "A12. Broadcast channels".
    static let expected: [(Int, String, Disposition)] = [
        (400, "BadCollapseId", .drop), (400, "BadExpirationDate", .drop), (400, "BadMessageId", .drop),
        (400, "BadPriority", .drop), (400, "BadTopic", .drop), (400, "DuplicateHeaders", .drop),
        (400, "InvalidPushType", .drop), (400, "MissingDeviceToken", .drop), (400, "MissingTopic", .drop),
        (400, "PayloadEmpty", .drop), (400, "BadDeviceToken", .deactivate),
        (400, "DeviceTokenNotForTopic", .deactivate), (400, "TopicDisallowed", .drop), (400, "IdleTimeout", .reconnect),
        (403, "BadCertificate", .halt), (403, "BadCertificateEnvironment", .halt),
        (403, "ExpiredProviderToken", .renewToken), (403, "InvalidProviderToken", .renewTokenOnce),
        (403, "MissingProviderToken", .halt), (403, "Forbidden", .halt), (403, "UnrelatedKeyIdInToken", .reconnect),
        (403, "BadEnvironmentKeyIdInToken", .halt), (403, "BadEnvironmentKeyInToken", .halt), (404, "BadPath", .drop),
        (405, "MethodNotAllowed", .drop), (410, "Unregistered", .deactivate), (410, "ExpiredToken", .deactivate),
        (413, "PayloadTooLarge", .drop), (429, "TooManyProviderTokenUpdates", .slowMinting),
        (429, "TooManyRequests", .retry), (500, "InternalServerError", .retry), (503, "ServiceUnavailable", .retry),
        (503, "Service Unavailable", .retry), (503, "Shutdown", .reconnect),
        (400, "FeatureNotEnabled", .drop), (400, "MissingChannelId", .drop), (400, "BadChannelId", .drop),
        (400, "ChannelNotRegistered", .drop), (400, "BadRequestParams", .drop), (400, "BadRequestPayload", .drop),
        (400, "MissingPushType", .drop), (400, "CannotCreateChannelConfig", .drop), (403, "TopicMismatch", .drop),
        (400, "MissingChannelQueueSize", .drop),
    ]

    @Test(arguments: expected) func `Each reason has the documented disposition`(
        status: Int, name: String, disposition: Disposition
    ) throws {
        let reason = ProviderReason(rawValue: name)
        #expect(reasons.disposition(status: status, reason: reason) == disposition)
        let known = try #require(reasons.known(name))
        #expect(known.status == status)
        #expect(reasons.label(of: reason) == known.names[0])
        #expect(!known.meaning.isEmpty && !known.advice.isEmpty)
        #expect(reasons.explanation(of: Refusal(status: status, reason: reason)).meaning == known.meaning)
    }

    @Test func `The table contains exactly the documented names, each once`() {
        let names = reasons.all.flatMap(\.names)
        #expect(Set(names).count == names.count)
        #expect(Set(names) == Set(Self.expected.map(\.1)))
    }

    @Test(arguments: [
        (400, Disposition.drop), (401, .drop), (403, .renewTokenOnce), (404, .drop), (410, .deactivate), (413, .drop),
        (429, .retry), (499, .drop), (500, .retry), (502, .retry), (503, .retry), (599, .retry), (999, .retry),
        (.max, .retry), (200, .drop), (204, .drop), (100, .retry), (301, .retry), (0, .retry), (-1, .retry),
        (.min, .retry),
    ]) func `The status decides if the reason is missing or unknown`(status: Int, disposition: Disposition) {
        for reason in [nil, ProviderReason(rawValue: ""), ProviderReason(rawValue: "TomorrowsWord")] {
            #expect(reasons.disposition(status: status, reason: reason) == disposition)
            #expect(!reasons.explanation(of: Refusal(status: status, reason: reason)).advice.isEmpty)
        }
    }

    @Test func `A known reason takes precedence over the status`() {
        #expect(reasons.disposition(status: 500, reason: "Unregistered") == .deactivate)
        #expect(reasons.disposition(status: 400, reason: "Shutdown") == .reconnect)
    }

    @Test func `Metric labels are a closed set`() {
        let label = reasons.label(of: ProviderReason(rawValue: "\"}\n{"))
        #expect(label == ProviderReason.otherLabel)
        #expect(reasons.label(of: ProviderReason(rawValue: "BadEnvironmentKeyInToken")) == "BadEnvironmentKeyIdInToken")
        #expect(reasons.known("baddevicetoken") == nil)
    }

    @Test func `Each refusal has the right concern`() {
        #expect(reasons.concern(of: Refusal(status: 400, reason: "TopicDisallowed")) == .topic)
        #expect(reasons.concern(of: Refusal(status: 403, reason: "BadCertificate")) == .credential)
        #expect(reasons.concern(of: Refusal(status: 403, reason: nil)) == .credential)
        #expect(reasons.concern(of: Refusal(status: 418, reason: nil)) == nil)
        for known in reasons.all where known.disposition == .halt { #expect(known.concern == .credential) }
        for known in reasons.all where known.disposition == .deactivate { #expect(known.concern == .device) }
        for known in reasons.all where known.disposition == .reconnect { #expect(known.concern == .connection) }
    }

    @Test func `A refusal that may be the fault of the app's settings is told from a dead address`() {
        #expect(reasons.end(of: Refusal(status: 400, reason: "BadDeviceToken")) == .misdirected)
        #expect(reasons.end(of: Refusal(status: 400, reason: "DeviceTokenNotForTopic")) == .misdirected)
        #expect(reasons.end(of: Refusal(status: 410, reason: "Unregistered")) == .gone)
        #expect(reasons.end(of: Refusal(status: 410, reason: nil)) == .gone)
        #expect(reasons.end(of: Refusal(status: 400, reason: "BadTopic")) == nil)
    }

    @Test func `Another table gives other answers`() {
        let other = ReasonTable([
            KnownReason(404, names: ["GONE"], disposition: .deactivate, concern: .device, meaning: "m", advice: "a")
        ])
        #expect(other.end(of: Refusal(status: 404, reason: ProviderReason(rawValue: "GONE"))) == .gone)
        // What only the status says at APNs is nothing special elsewhere.
        #expect(other.end(of: Refusal(status: 410, reason: "Unregistered")) == nil)
        #expect(other.concern(of: Refusal(status: 403, reason: nil)) == nil)
        #expect(other.changing { _, _, _ in .retry }.end(of: Refusal(status: 404, reason: nil)) == nil)
    }

    @Test func `There is a constant for each row of the table`() {
        let constants: [ProviderReason] = [
            "BadCollapseId", "BadDeviceToken", "BadExpirationDate", "BadMessageId", "BadPriority", "BadTopic",
            "DeviceTokenNotForTopic", "DuplicateHeaders", "IdleTimeout", "InvalidPushType", "MissingDeviceToken",
            "MissingTopic", "PayloadEmpty", "TopicDisallowed", "BadCertificate", "BadCertificateEnvironment",
            "ExpiredProviderToken", "Forbidden", "InvalidProviderToken", "MissingProviderToken",
            "UnrelatedKeyIdInToken", "BadEnvironmentKeyIdInToken", "BadPath", "MethodNotAllowed", "Unregistered",
            "ExpiredToken", "PayloadTooLarge", "TooManyProviderTokenUpdates", "TooManyRequests", "InternalServerError",
            "ServiceUnavailable", "Shutdown",
            "FeatureNotEnabled", "MissingChannelId", "BadChannelId", "ChannelNotRegistered", "BadRequestParams",
            "BadRequestPayload", "MissingPushType", "CannotCreateChannelConfig", "MissingChannelQueueSize",
            "TopicMismatch",
        ]
        #expect(Set(constants) == Set(reasons.all.map(\.reason)))
    }
}
