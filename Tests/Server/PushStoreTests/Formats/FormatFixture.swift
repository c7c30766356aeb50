import Foundation
import PushModel
import PushTime
import TestSupport
import Testing

@testable import PushStore

/// A data directory that an earlier version of Carillon wrote, after SIGKILL, and the facts that are in it.
/// `Tools/fixture` makes one; none is ever changed.
struct FormatFixture: Sendable, CustomTestStringConvertible {
    struct Facts: Decodable, Sendable {
        struct Pushed: Decodable, Sendable {
            let id: String
            let app: String
            let tokens: [String]
            let seq: UInt64
            let priority: Int?
            let collapseID: String?
            let onUnknown: String?
            let notBefore: Int64?

            enum CodingKeys: String, CodingKey {
                case id, app, tokens, seq, priority
                case collapseID = "collapse_id"
                case onUnknown = "on_unknown"
                case notBefore = "not_before"
            }
        }

        struct Device: Decodable, Sendable {
            let device: String
            let app: String
            let user: String?
            let tags: [String]?
            let active: Bool
            let reason: String?
            let locale: String?
            let platform: String?
            let kind: String?
            let activity: String?
            let activityType: String?
            let installation: String?
            let timeZone: String?

            enum CodingKeys: String, CodingKey {
                case device, app, user, tags, active, reason, locale, platform, kind, activity, installation
                case activityType = "activity_type"
                case timeZone = "time_zone"
            }
        }

        struct Keys: Decodable, Sendable {
            struct Key: Decodable, Sendable {
                let name: String
                let roles: [String]
                let apps: [String]?
                let rate: Int?
                let bearer: Bool
            }

            let keys: [Key]
        }

        let time: Int64
        let ledgerVersion: Int64
        let events: Int
        let newest: UInt64
        let kinds: [String]
        let done: [Pushed]
        let half: Pushed
        let waiting: [Pushed]
        let cancelled: Pushed
        let scheduled: [Pushed]
        let receipts: [String]
        let paused: [String]
        let devices: [Device]
        let keys: [Keys]
        let sentHalf: [String]

        enum CodingKeys: String, CodingKey {
            case events, newest, kinds, done, half, waiting, cancelled, scheduled, receipts, paused, devices, keys
            case time = "time_ms"
            case ledgerVersion = "ledger_version"
            case sentHalf = "sent_half"
        }

        var pushed: [Pushed] { done + [half, cancelled] + waiting + scheduled }
    }

    let name: String
    let facts: Facts

    var testDescription: String { name }

    private static let folder = #filePath.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" } + "/Fixtures"

    /// All fixtures, the oldest first.
    static let all: [FormatFixture] = {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter { $0.hasSuffix(".json") }.sorted().compactMap { name in
            guard let data = FileManager.default.contents(atPath: "\(folder)/\(name)") else { return nil }
            // A fixture that cannot be read must not vanish from the tests.
            guard let facts = try? JSONDecoder().decode(Facts.self, from: data) else {
                preconditionFailure("cannot read the facts of the fixture \(name)")
            }
            return FormatFixture(name: String(name.dropLast(5)), facts: facts)
        }
    }()

    /// Calls `body` with a folder that has a copy of the directory.
    func unpacked<Result>(_ body: (String) async throws -> Result) async throws -> Result {
        try await withLedgerFolder { folder in
            let ended = try await ChildProcess.run("tar", ["-xJf", "\(Self.folder)/\(name).tar.xz", "-C", folder])
            guard ended.status == 0 else { throw StoreError(.cannotRead, "cannot unpack \(name): \(ended.errors)") }
            return try await body(folder)
        }
    }
}

extension FormatFixture.Facts.Pushed {
    var deviceTokens: [Address] { tokens.compactMap { Address(hex: $0) } }

    /// The same message as a producer sends it again.
    var request: PushRequest {
        PushRequest(
            Message(
                id: MessageID(id)!, app: AppID(app)!,
                priority: priority.flatMap { PushPriority(rawValue: UInt8($0)) },
                collapseID: collapseID.flatMap { CollapseID($0) }, payload: LedgerScene.payload,
                onUnknown: onUnknown.flatMap { UnknownPolicy(rawValue: $0) } ?? .resend,
                notBefore: notBefore.map { UnixSeconds($0) }), to: .tokens(deviceTokens))
    }
}
