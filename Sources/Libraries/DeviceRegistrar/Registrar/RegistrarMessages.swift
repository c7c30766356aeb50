import Foundation
import RequestQueue

/// The bodies of a registrar's requests.
enum RegistrarMessages {
    struct Registration: Encodable {
        var token: String
        var user: String?
        var tags: [String]?
        var locale: String?
        var platform: String?
        var appVersion: String?
        var environment: String?
        var replaces: String?
        var timeZone: String?
        var installation: String?
        var kind: String?
        var activity: String?
        var activityType: String?

        enum CodingKeys: String, CodingKey {
            case token, user, tags, locale, platform, environment, replaces, installation, kind, activity
            case appVersion = "app_version"
            case timeZone = "time_zone"
            case activityType = "activity_type"
        }

        init(
            _ token: PushToken, profile: DeviceProfile, replaces: PushToken?, for purpose: TokenPurpose? = nil,
            installation: String?
        ) {
            self.token = token.hex
            (user, tags, locale, platform) = (profile.user, profile.tags, profile.locale, profile.platform)
            (appVersion, environment, timeZone) = (profile.appVersion, profile.environment, profile.timeZone)
            self.replaces = replaces?.hex
            self.installation = installation
            (kind, activity, activityType) = (purpose?.kind, purpose?.activity, purpose?.activityType)
        }
    }

    struct Removal: Encodable {
        var token: String
    }

    struct Report: Encodable {
        struct Item: Encodable {
            var notification: String
            var what: String
            var at: Int64

            enum CodingKeys: String, CodingKey {
                case notification = "apns_id"
                case what, at
            }
        }

        var seen: [Item]
    }

    private struct Reply: Decodable {
        var device: String?
        var code: String?
        var detail: String?
        var serverTime: Int64?

        enum CodingKeys: String, CodingKey {
            case device, code, detail
            case serverTime = "server_time_at"
        }
    }

    /// Returns the route and the body of a request.
    static func encode(
        _ operation: RegistrarMachine.Operation, installation: String? = nil
    ) throws -> (route: String, body: Data) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        switch operation {
        case .remove(let token): return ("devices/remove", try encoder.encode(Removal(token: token.hex)))
        case .register(let token, let profile, let replaces):
            let message = Registration(token, profile: profile, replaces: replaces, installation: installation)
            return ("devices", try encoder.encode(message))
        case .registerAddress(let purpose, let token, let profile, let replaces):
            let message = Registration(
                token, profile: profile, replaces: replaces, for: purpose, installation: installation)
            return ("devices", try encoder.encode(message))
        case .report(let reports):
            let items = reports.map { Report.Item(notification: $0.notification, what: $0.kind.rawValue, at: $0.at) }
            return ("seen", try encoder.encode(Report(seen: items)))
        }
    }

    static func answer(_ response: Response, now: Int64) -> RegistrarMachine.Answer {
        let reply = try? JSONDecoder().decode(Reply.self, from: response.body)
        return RegistrarMachine.Answer(
            status: response.status, code: reply?.code ?? "", detail: reply?.detail ?? "", device: reply?.device,
            serverTime: reply?.serverTime,
            retryAfter: response.fields["Retry-After"].flatMap { RetryAfter.pause($0, now: now) })
    }
}
