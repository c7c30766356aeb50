package import PushModel
package import PushStore

/// `GET /v1/users/{user}`: what is stored about a user, page by page.
package struct GetUser: Endpoint {
    /// The number of devices or messages on a page.
    static let pageSize = 100
    /// The number of parts of the log that an answer reads at most until it has something.
    static let maxParts = 5

    package struct Input: EndpointInput {
        let path: UserPath
        let after: String?

        package init(_ read: inout InputReader) {
            path = UserPath(&read)
            after = read.query("after", as: .text(1...1024), about: "The next of an earlier page.")
        }
    }

    package static let operation = Operation(
        .get, at: "/v1/users/{user}", id: "getUser", access: .role(.operate), subject: "Users",
        summary: "Returns the addresses of a user without their tokens, their reports, and messages to the user.",
        problems: [.unknownUser, .unknownApp], records: [.operatorUserExport])

    private let devices: any DeviceDirectory
    private let history: MessageHistory
    private let apps: AppCatalog

    package init(devices: any DeviceDirectory, history: MessageHistory, apps: AppCatalog) {
        self.devices = devices
        self.history = history
        self.apps = apps
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<UserAnswer> {
        let apps: [AppID?] = try input.path.apps(of: caller, in: apps).map { $0.map(Optional.some) } ?? [nil]
        guard !apps.isEmpty else { throw input.path.unknown }
        var place = try UserPlace(input.after, apps: apps.count)
        var page: UserAnswer
        var parts = 0
        repeat {
            // Also one that comes to the beginning of the log may have read all of a part.
            if place.isOfMessages { parts += 1 }
            let (found, next) =
                if place.isOfMessages {
                    try await messages(of: input.path.user, in: apps[place.app], after: place.after)
                } else {
                    try await addresses(of: input.path.user, in: apps[place.app], after: place.after)
                }
            page = found
            place.advance(to: next, apps: apps.count)
        } while page.isEmpty && place.text != nil && parts < Self.maxParts
        if page.isEmpty, input.after == nil, place.text == nil { throw input.path.unknown }
        page.next = PageCursor(place.text)
        return Reply(
            page,
            changes: input.path.changes(
                .operatorUserExport, in: apps.compactMap { $0 },
                of: "\(page.devices.count) devices, \(page.messages.count) messages"))
    }

    /// Returns a page, and where the next one of devices begins; nil if it was the last one.
    private func addresses(
        of user: String, in app: AppID?, after cursor: String?
    ) async throws -> (page: UserAnswer, next: String?) {
        var filter = DeviceFilter()
        (filter.app, filter.user) = (app, user)
        let list: DeviceList
        do {
            list = try await devices.list(filter, after: cursor.map { AudienceCursor($0) }, limit: Self.pageSize)
        } catch is BadCursor {
            throw UserPlace.fault
        }
        var answer = UserAnswer(user)
        answer.devices = list.devices.map { DeviceAnswer($0) }
        for device in list.devices { answer.reports += try await reports(of: device) }
        return (answer, list.next?.text)
    }

    private func messages(
        of user: String, in app: AppID?, after cursor: String?
    ) async throws -> (page: UserAnswer, next: String?) {
        var filter = MessageHistory.Filter()
        (filter.app, filter.user) = (app, user)
        var before: LogPosition?
        if let cursor {
            guard let position = LogPosition(cursor), position != LogPosition() else { throw UserPlace.fault }
            before = position
        }
        try history.log.check(before, in: "after")
        let page = try await history.page(filter, before: before, limit: Self.pageSize)
        var answer = UserAnswer(user)
        answer.messages = page.messages.map { message in
            var message = message
            message.request.users = [user]
            return message
        }
        return (answer, page.next)
    }

    private func reports(of device: DeviceRecord) async throws -> [UserAnswer.UserReport] {
        var reports: [UserAnswer.UserReport] = []
        for segment in try await history.log.trace(.device(device.id), limit: TraceSearch.maxAsked) {
            _ = segment.couldBeRead { entry in
                let event = entry.event
                guard event.device == device.id, event.kind == .deliveryDisplayed || event.kind == .deliveryOpened
                else { return true }
                reports.append(
                    UserAnswer.UserReport(
                        device: device.id.description, app: device.app.name, message: entry.messageID ?? "",
                        kind: "\(event.kind.name)", at: event.time))
                return true
            }
        }
        return reports
    }
}

/// A place in what is stored about a user: first come the devices in each app, then the messages in each app.
struct UserPlace: Sendable {
    private(set) var app = 0
    private(set) var isOfMessages = false
    private(set) var after: String?
    private var isEnd = false

    static var fault: Problem {
        .invalid(InputFault(.badValue, at: .parameter("after"), detail: "it is not the next of an earlier page"))
    }

    init(_ text: String?, apps: Int) throws(Problem) {
        guard let text else { return }
        let parts = text.split(separator: "-", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "d" || parts[0] == "m", let app = Int(parts[1]),
            (0..<apps).contains(app)
        else { throw Self.fault }
        (self.app, isOfMessages) = (app, parts[0] == "m")
        after = parts[2].isEmpty ? nil : String(parts[2])
    }

    /// Its text; nil at the end.
    var text: String? { isEnd ? nil : "\(isOfMessages ? "m" : "d")-\(app)-\(after ?? "")" }

    mutating func advance(to next: String?, apps: Int) {
        after = next
        if next != nil { return }
        app += 1
        guard app >= apps else { return }
        (app, isEnd, isOfMessages) = (0, isOfMessages, true)
    }
}
