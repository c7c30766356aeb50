import PushAPI
import PushModel
import PushText
import PushTime
import PushWire

/// `carillon devices reactivate`: sends again to devices that a flood of wrong answers has deactivated.
enum DevicesReactivate {
    static let verb = Verb(
        name: "devices reactivate", summary: "send again to devices that were deactivated for one reason",
        details: """
            After a mistake in the environment or the topic of an app, the push service rejects good tokens, and their \
            devices are deactivated until the brake stops that. Correct the configuration first; then this makes the \
            devices active again. A device whose token is rejected once more is deactivated once more.
            """,
        options: [
            Option("app", value: "APP", about: "the app of the devices"),
            Option("reason", value: "REASON", about: "the reason of the deactivation, such as BadDeviceToken"),
            Option("since", value: "TIME", about: "only devices deactivated since this time: \(Moment.about)"),
            Option("dry-run", about: "only count the devices"),
        ] + DevicesVerb.options,
        examples: [
            (
                "carillon devices reactivate --app shop --reason BadDeviceToken --since 1h --dry-run",
                "count the devices that a flood of bad tokens has deactivated"
            ),
            (
                "carillon devices reactivate --app shop --reason BadDeviceToken --since 1h",
                "make them active again"
            ),
        ]
    ) { arguments in
        guard let app = arguments.text("app"), let reason = arguments.text("reason"),
            let since = try Moment.read("since", of: arguments)
        else {
            throw Failure(
                .usage,
                "--app, --reason and --since are needed; 'carillon devices reactivate --help' shows examples")
        }
        let client = try ControlOptions.client(arguments)
        let found = try await devices(of: app, because: reason, since: since, from: client)
        var count = found.count
        if !arguments.has("dry-run") {
            count = 0
            for id in found where try await reactivate(id, through: client) { count += 1 }
        }
        if arguments.has("json") {
            let reactivated = arguments.has("dry-run") ? 0 : count
            Terminal.output.write(
                MachineLine.text(["found": .integer(Int64(found.count)), "reactivated": .integer(Int64(reactivated))]))
        } else {
            let what = count == 1 ? "1 device" : "\(count) devices"
            Terminal.output.write(
                arguments.has("dry-run")
                    ? "\(what) would be active again; without --dry-run they are.\n"
                    : "\(what) of \(found.count) \(count == 1 ? "is" : "are") active again.\n")
        }
        return .done
    }

    private static func devices(
        of app: String, because reason: String, since: WallTime, from client: ControlClient
    ) async throws -> [String] {
        var found: [String] = []
        var cursor: String?
        repeat {
            let query = APIQuery.encoded([
                ("app", app), ("active", "false"), ("after", cursor), ("limit", "\(DeviceSearch.maxPageSize)"),
            ])
            let page = try await client.ask("GET", at: "/v1/devices" + query, for: DeviceListAnswer.self)
            found += page.devices.filter { $0.reason == reason && $0.deactivatedAt ?? .distantPast >= since }.map(\.id)
            cursor = page.next.text
        } while cursor != nil
        return found
    }

    /// Returns whether the device was inactive. A device that has gone meanwhile, or has no token, is left out.
    private static func reactivate(_ id: String, through client: ControlClient) async throws -> Bool {
        do {
            let answer = try await client.ask(
                "POST", at: "/v1/devices/\(id)/reactivate", for: ReactivationAnswer.self)
            return answer.reactivated
        } catch let failure as Failure where failure.code == .badInput {
            Terminal.error.write("carillon devices reactivate: \(failure)\n")
            return false
        }
    }
}
