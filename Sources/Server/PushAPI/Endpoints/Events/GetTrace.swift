package import PushModel
import PushStore
import PushTime

/// `GET /v1/trace`: the story of a message, a device, a delivery, a user or a Live Activity.
package struct GetTrace: Endpoint {
    package struct Input: EndpointInput {
        let message: MessageID?
        let app: AppID?
        let device: DeviceID?
        let deliveryID: DeliveryID?
        let user: String?
        let activity: String?
        let since: WallTime
        let until: WallTime

        package init(_ read: inout InputReader) {
            message = read.query(
                "message", as: .message,
                about: "A message id. Give one of message, device, apns_id, user and activity; with activity, it is "
                    + "the message that started it.")
            app = read.query(
                "app", as: .app,
                about: "Only messages of this app or family; only with message. With activity, the app that it is of.")
            device = read.query("device", as: .device, about: "A device id.")
            deliveryID = read.query("apns_id", as: .deliveryID, about: "The apns-id of a delivery.")
            user = read.query("user", as: .text(1...1024), about: "A user, for the devices that belong to it now.")
            activity = read.query(
                "activity", as: .text(1...DeviceInput.maxActivityLength),
                about: "The name of a Live Activity of the app, for the messages to it and its addresses.")
            since = read.query("since", as: .time, about: "Only events at this time or later.") ?? .distantPast
            until = read.query("until", as: .time, about: "Only events at this time or earlier.") ?? .distantFuture
            let subjects = [
                message != nil && activity == nil, device != nil, deliveryID != nil, user != nil, activity != nil,
            ].count { $0 }
            read.require(
                subjects == 1, atQuery: "message", code: subjects == 0 ? .missing : .badValue,
                detail: "name one subject to trace: message, device, apns_id, user or activity")
            read.require(
                app == nil || message != nil || activity != nil, atQuery: "app",
                detail: "app can only be combined with message and activity")
            read.require(
                activity == nil || app != nil, atQuery: "app", code: .missing, detail: "name the app of the activity")
        }
    }

    package static let operation = Operation(
        .get, at: "/v1/trace", id: "getTrace", access: .role(.observe), subject: "Events",
        summary: "Returns the events of one message, device, delivery, user or Live Activity, in order.",
        problems: [.unknownMessage, .unknownApp])

    private let traces: Traces
    private let apps: AppCatalog

    package init(traces: Traces, apps: AppCatalog) {
        self.traces = traces
        self.apps = apps
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<WrittenAnswer<TraceKind>> {
        let family = try input.app.flatMap { try apps.family($0, for: caller) }
        if input.activity != nil, let family {
            throw Problem.invalid(
                InputFault(
                    .badValue, at: .parameter("app"),
                    detail: "\(family.name) is a family; an activity is of one app"))
        }
        let app = input.message == nil && input.activity == nil || family != nil ? nil : try caller.app(for: input.app)
        guard input.since <= input.until else { return Reply(traces.written(TraceSearch.Found(), for: caller)) }
        let search = TraceSearch(log: traces.log, span: input.since...input.until)
        let found: TraceSearch.Found
        if let activity = input.activity, let app {
            found = try await traces.activity(activity, of: app, startedBy: input.message, in: search)
            // An app that is not in the configuration any more may have events.
            if found.lines.isEmpty { try apps.check(app) }
        } else if let message = input.message {
            found =
                if let family {
                    try await search.message(message, apps: family.members)
                } else {
                    try await search.message(message, app: app)
                }
            let isWhole = input.since == .distantPast && input.until == .distantFuture
            if isWhole, found.isComplete, found.lines.isEmpty { throw FindMessage.unknown(message) }
        } else if let device = input.device {
            found = try await search.device(device)
        } else if let id = input.deliveryID {
            found = try await search.deliveryID(id)
        } else {
            found = try await traces.user(input.user ?? "", for: caller, in: search)
        }
        return Reply(traces.written(found, for: caller))
    }
}
