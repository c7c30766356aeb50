package import PushTime

/// The state of a webhook. Times are milliseconds since 1970; unknown values are left out.
package struct WebhookAnswer: JSONAnswer, Equatable {
    /// From the usual to what an operator must see first.
    package enum State: String, Codable, Sendable, CaseIterable, SchemaChoice {
        /// All events are delivered that concern the receiver.
        case idle
        /// It looks for events, or stores a position.
        case reading
        case sending
        /// No node that answers delivers this part of the log.
        case unowned
        /// A request has failed, and the next one is not due yet.
        case backingOff = "backing_off"
        case paused, disabled
    }

    /// Why a webhook is disabled.
    package enum Reason: String, Codable, Sendable, CaseIterable, SchemaChoice {
        /// The receiver answered 410.
        case gone
        /// Its position could not be read.
        case damaged
    }

    package var name: String
    package var host: String
    package var state: State
    package var reason: Reason?
    package var prefixes: [String]
    package var position: UInt64?
    package var lag: UInt64
    package var lastStatus: Int?
    package var lastFault: String?
    package var lastAt: WallTime?
    package var lastSuccessAt: WallTime?
    package var nextAttemptAt: WallTime?
    package var failures: Int
    package var parts: [Part]?

    package enum CodingKeys: String, CodingKey {
        case name, host, state, reason, prefixes, position, lag, failures, parts
        case lastStatus = "last_status"
        case lastFault = "last_fault"
        case lastAt = "last_at"
        case lastSuccessAt = "last_success_at"
        case nextAttemptAt = "next_attempt_at"
    }

    package static var about: [String: String] {
        [
            "host": "The host and port of the receiver.",
            "state":
                "idle, reading and sending are usual; backing_off after a failure; paused by an operator; disabled until it "
                + "is resumed, see reason; unowned if no node of a cluster that answers delivers a part.",
            "reason":
                "Why it is disabled: gone if the receiver answered 410, damaged if its position could not be read.",
            "prefixes": "The beginnings of the topics whose events it gets.",
            "position": "The number of the last event that needs no delivery any more; in a cluster, see parts.",
            "lag": "The event numbers between the position and the newest event; in a cluster, of all parts.",
            "last_status": "The status of the last response; absent if the last request had none.",
            "last_fault": "Why the last request had no response.",
            "last_at": "When the last request ended.",
            "last_success_at": "When the receiver took the last batch, since the start.",
            "next_attempt_at": "When the batch is sent again, after a failure.",
            "failures": "The failures in a row; in a cluster, of the part with the most.",
            "parts": "The parts of the log of a cluster, by number. Each has a position of its own.",
        ]
    }

    package init(
        name: String, host: String, state: State, reason: Reason? = nil, prefixes: [String], position: UInt64?,
        lag: UInt64,
        lastStatus: Int? = nil, lastFault: String? = nil, lastAt: WallTime? = nil, lastSuccessAt: WallTime? = nil,
        nextAttemptAt: WallTime? = nil, failures: Int = 0
    ) {
        (self.name, self.host, self.state, self.reason, self.prefixes) = (name, host, state, reason, prefixes)
        (self.position, self.lag, self.failures) = (position, lag, failures)
        (self.lastStatus, self.lastFault, self.lastAt) = (lastStatus, lastFault, lastAt)
        (self.lastSuccessAt, self.nextAttemptAt) = (lastSuccessAt, nextAttemptAt)
    }
}

extension WebhookAnswer {
    /// Returns the position of a part; of the only one, if none is named.
    func position(of part: Int?) -> UInt64? {
        part.flatMap { part in parts?.first { $0.part == part }?.position } ?? position
    }

    /// The delivery of one part of the log of a cluster.
    package struct Part: JSONAnswer, Equatable {
        package var part: Int
        package var node: String?
        package var state: State
        package var reason: Reason?
        package var position: UInt64
        package var lag: UInt64
        package var lastStatus: Int?
        package var lastFault: String?
        package var lastAt: WallTime?
        package var lastSuccessAt: WallTime?
        package var nextAttemptAt: WallTime?
        package var failures: Int

        package enum CodingKeys: String, CodingKey {
            case part, node, state, reason, position, lag, failures
            case lastStatus = "last_status"
            case lastFault = "last_fault"
            case lastAt = "last_at"
            case lastSuccessAt = "last_success_at"
            case nextAttemptAt = "next_attempt_at"
        }

        package static var about: [String: String] {
            WebhookAnswer.about.filter { CodingKeys(stringValue: $0.key) != nil }.merging([
                "part": "The part of the log.",
                "node": "The node that owns it; left out if none that answers does.",
                "position": "The number of its last event that needs no delivery any more.",
                "lag": "The event numbers between the position and its newest event.",
                "failures": "The failures in a row.",
            ]) { $1 }
        }

        /// Creates the answer of an owner.
        package init(_ answer: WebhookAnswer, part: Int, node: String) {
            self.init(part: part, state: answer.state, position: answer.position ?? 0, lag: answer.lag)
            (self.node, reason) = (node, answer.reason)
            (lastStatus, lastFault, lastAt) = (answer.lastStatus, answer.lastFault, answer.lastAt)
            (lastSuccessAt, nextAttemptAt) = (answer.lastSuccessAt, answer.nextAttemptAt)
            failures = answer.failures
        }

        /// Creates the answer of a part without an owner.
        package init(part: Int, state: State, position: UInt64, lag: UInt64) {
            (self.part, self.state, self.position, self.lag, failures) = (part, state, position, lag, 0)
        }
    }

    /// Creates the answer of a cluster from its parts: the state that an operator must see first, and the last request
    /// of any part.
    package init(name: String, host: String, prefixes: [String], parts: [Part]) {
        let states = State.allCases.filter { state in parts.contains { $0.state == state } }
        let last = parts.filter { $0.lastAt != nil }.max { ($0.lastAt ?? .distantPast) < ($1.lastAt ?? .distantPast) }
        self.init(
            name: name, host: host, state: states.last ?? .unowned, reason: parts.compactMap(\.reason).first,
            prefixes: prefixes, position: nil,
            lag: parts.reduce(0) { $0.addingReportingOverflow($1.lag).partialValue }, lastStatus: last?.lastStatus,
            lastFault: last?.lastFault, lastAt: last?.lastAt, lastSuccessAt: parts.compactMap(\.lastSuccessAt).max(),
            nextAttemptAt: parts.compactMap(\.nextAttemptAt).min(), failures: parts.map(\.failures).max() ?? 0)
        self.parts = parts
    }
}

/// The webhooks, by name.
package struct WebhookListAnswer: JSONAnswer, Equatable {
    package var webhooks: [WebhookAnswer]

    package init(webhooks: [WebhookAnswer]) { self.webhooks = webhooks }
}

/// How the receiver of a webhook took a test.
package struct WebhookTestAnswer: JSONAnswer, Equatable {
    package var id: String
    package var status: Int?
    package var fault: String?

    package static var about: [String: String] {
        [
            "id": "The webhook-id of the request.",
            "status": "The status of the response; absent if there was none.",
            "fault": "Why there was no response.",
        ]
    }

    package init(id: String, status: Int? = nil, fault: String? = nil) {
        (self.id, self.status, self.fault) = (id, status, fault)
    }
}

/// What an operator does with a webhook.
package enum WebhookChange: Sendable, Equatable {
    case pause, resume
    /// Continues with the events after this number: in a cluster, of one part, or with the beginning of all parts.
    case seek(UInt64, part: Int?)
}

/// The webhooks of a running Carillon. It may be called from any task.
package protocol WebhookControl: Sendable {
    /// Returns the webhooks, sorted by name.
    func webhooks() async -> [WebhookAnswer]
    /// Returns a webhook; nil if there is none of this name.
    func webhook(named name: String) async -> WebhookAnswer?
    /// Changes a webhook, and returns it; nil if there is none of this name.
    func change(_ name: String, by change: WebhookChange) async throws -> WebhookAnswer?
    /// Sends one event that is in no log, and waits for the response; nil if there is no webhook of this name.
    func test(_ name: String) async throws -> WebhookTestAnswer?
}
