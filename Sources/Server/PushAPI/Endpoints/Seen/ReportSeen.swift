package import PushModel
package import PushStore

/// `POST /v1/apps/{app}/seen`: an app or its notification extension reports what was displayed and opened.
package struct ReportSeen: Endpoint {
    package static let maxReports = 100

    package struct Input: EndpointInput {
        let app: AppID
        let reports: [SeenReport]

        package init(_ read: inout InputReader) {
            app = read.path("app", as: .app, about: "The app.")
            reports = read.body(
                "seen", as: .list(of: .object { Self.report(&$0) }, count: 1...maxReports),
                about: "What was seen, each with the id of a delivery.")
        }

        private static func report(_ read: inout InputReader) -> SeenReport {
            let deliveryID = read.optional("apns_id", as: .deliveryID, about: "The apns-id of the delivery.")
            let providerID = read.optional(
                "provider_id", as: .text(1...256),
                about: "The id of the delivery at its push service, if that is not Apple's.")
            let what = read.body("what", as: Form<SeenReport.What>.choice, about: "What happened.")
            let at = read.optional(
                "at", as: Form<Int64>.integer(0...latest),
                about: "When it happened by the clock of the device, in milliseconds since 1970.")
            read.requireOne(
                of: "apns_id", or: "provider_id", detail: "name the delivery by apns_id or by provider_id")
            return SeenReport(of: deliveryID ?? providerID.flatMap { DeliveryID($0) }, what: what, at: at)
        }

        /// The end of the year 9999.
        private static let latest: Int64 = 253_402_300_799_999
    }

    package static let operation = Operation(
        .post, at: "/v1/apps/{app}/seen", id: "reportSeen", access: .role(.register), subject: "Devices",
        summary: "Records which notifications were displayed and opened, each once.", body: .json,
        example: [
            "seen": [
                [
                    "apns_id": "6851d77c-dfe0-5021-a5a1-7e79436331fb", "what": "displayed",
                    "at": .integer(1_795_313_619_000),
                ]
            ]
        ],
        answers: [.init(202, about: "The reports are recorded; those of unknown deliveries are counted.")])

    private let seen: SeenReports

    package init(seen: SeenReports) {
        self.seen = seen
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<SeenAnswer> {
        try caller.check(input.app)
        do {
            let result = try await seen.take(input.reports, of: input.app)
            return Reply(SeenAnswer(taken: result.taken, unknown: result.unknown), status: 202)
        } catch let failure as SeenReports.Failure {
            var problem = Problem(
                .unavailable,
                detail: failure == .busy
                    ? "too many reports wait; send these again later"
                    : "the ledger cannot write events; send the reports again later")
            problem.retryAfterMilliseconds = 1000
            throw problem
        }
    }
}
