import PushModel
import Testing

@Suite struct ProviderReasonTests {
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
        #expect(Disposition.of(status: status, reason: reason) == disposition)
        #expect(Refusal(status: status, reason: reason).disposition == disposition)
        let known = try #require(reason.known)
        #expect(known.status == status)
        #expect(reason.label == known.names[0])
        #expect(!known.meaning.isEmpty && !known.advice.isEmpty)
        #expect(Refusal(status: status, reason: reason).explanation.meaning == known.meaning)
    }

    @Test func `The table contains exactly the documented names, each once`() {
        let names = KnownReason.all.flatMap(\.names)
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
            #expect(Disposition.of(status: status, reason: reason) == disposition)
            #expect(!Refusal(status: status, reason: reason).explanation.advice.isEmpty)
        }
    }

    @Test func `A known reason takes precedence over the status`() {
        #expect(Disposition.of(status: 500, reason: .unregistered) == .deactivate)
        #expect(Disposition.of(status: 400, reason: .shutdown) == .reconnect)
    }

    @Test func `Metric labels are a closed set`() {
        let label = ProviderReason(rawValue: "\"}\n{").label
        #expect(label == ProviderReason.otherLabel)
        #expect(ProviderReason(rawValue: "BadEnvironmentKeyInToken").label == "BadEnvironmentKeyIdInToken")
        #expect(!ProviderReason(rawValue: "baddevicetoken").isKnown)
    }

    @Test func `Each refusal has the right concern`() {
        #expect(Refusal(status: 400, reason: .topicDisallowed).concern == .topic)
        #expect(Refusal(status: 403, reason: .badCertificate).concern == .credential)
        #expect(Refusal(status: 403, reason: nil).concern == .credential)
        #expect(Refusal(status: 418, reason: nil).concern == nil)
        for known in KnownReason.all where known.disposition == .halt { #expect(known.concern == .credential) }
        for known in KnownReason.all where known.disposition == .deactivate { #expect(known.concern == .device) }
        for known in KnownReason.all where known.disposition == .reconnect { #expect(known.concern == .connection) }
    }

    @Test func `There is a constant for each row of the table`() {
        let constants: [ProviderReason] = [
            .badCollapseID, .badDeviceToken, .badExpirationDate, .badMessageID, .badPriority, .badTopic,
            .deviceTokenNotForTopic, .duplicateHeaders, .idleTimeout, .invalidPushType, .missingDeviceToken,
            .missingTopic, .payloadEmpty, .topicDisallowed, .badCertificate, .badCertificateEnvironment,
            .expiredProviderToken, .forbidden, .invalidProviderToken, .missingProviderToken, .unrelatedKeyIDInToken,
            .badEnvironmentKeyIDInToken, .badPath, .methodNotAllowed, .unregistered, .expiredToken, .payloadTooLarge,
            .tooManyProviderTokenUpdates, .tooManyRequests, .internalServerError, .serviceUnavailable, .shutdown,
            .featureNotEnabled, .missingChannelID, .badChannelID, .channelNotRegistered, .badRequestParams,
            .badRequestPayload, .missingPushType, .cannotCreateChannelConfig, .missingChannelQueueSize, .topicMismatch,
        ]
        #expect(Set(constants) == Set(KnownReason.all.map(\.reason)))
    }
}
