package import PushModel
import PushText
import PushTransport
import PushWire

/// `/v1/devices`: the registry of devices.
package struct DeviceRoutes: Sendable {
    /// The maximum number of devices in one request.
    package static let maxRegistrations = 1000
    package static let maxPageSize = 1000
    package static let maxReasonLength = 200

    package let devices: any DeviceBook
    package let identities: Identities
    /// Returns the apps of the configuration in force. If it is nil, any app is accepted.
    package let apps: (@Sendable () async -> [AppID])?

    package var all: [AdminRoute] {
        let filters = ["app", "user", "tag", "active", "after", "limit"]
        return [
            AdminRoute(.get, at: "/v1/devices", query: filters) { request in
                let list = try await page(request.query)
                return DeviceListAnswer(devices: list.devices.map { DeviceAnswer($0) }, next: list.next?.text)
            },
            AdminRoute(.post, at: "/v1/devices", query: ["dry_run"]) { try await register($0) },
            AdminRoute(.get, at: "/v1/devices/{id}") { request in
                DeviceAnswer(try await device(try id(request)))
            },
            AdminRoute(.post, at: "/v1/devices/find") { request in
                let registration = try find(request.body)
                return DeviceAnswer(
                    try await device(identities.device(of: registration.app, token: registration.token)))
            },
            AdminRoute(.post, at: "/v1/devices/{id}/deactivate") { request in
                let (id, reason) = (try id(request), try reason(request.body))
                let ended = try await devices.deactivate([id], reason: reason)
                if ended.isEmpty { _ = try await device(id) }
                return DeactivationAnswer(id: id.description, deactivated: ended.contains(id))
            },
            AdminRoute(.delete, at: "/v1/apps/{app}/devices/{id}") { request in
                let id = try id(request)
                let known = try await device(id)
                guard known.app.name == request.parameter("app") else {
                    throw AdminFault(404, code: "unknown_device", message: "there is no device \(id) in this app")
                }
                return RemovalAnswer(id: id.description, removed: try await devices.remove([id]).contains(id))
            },
            // This response contains tokens. It is a separate resource, so that access to it can be a separate right.
            AdminRoute(.get, at: "/v1/export/devices", query: filters) { request in
                let list = try await page(request.query)
                return DeviceExportAnswer(devices: list.devices.map { ExportedDevice($0) }, next: list.next?.text)
            },
        ]
    }

    // MARK: Queries

    private func id(_ request: AdminRequest) throws(AdminFault) -> DeviceID {
        guard let id = DeviceID(request.parameter("id")) else {
            throw .badRequest("a device id is \(DeviceID.textLength) lower-case hexadecimal digits")
        }
        return id
    }

    private func device(_ id: DeviceID) async throws -> DeviceRecord {
        guard let device = try await devices.device(id) else {
            throw AdminFault(404, code: "unknown_device", message: "there is no device \(id)")
        }
        return device
    }

    private func page(_ query: AdminQuery) async throws -> DeviceList {
        var filter = DeviceFilter()
        if let name = query.text("app") {
            guard let app = AppID(name) else { throw AdminFault.unknownApp(PlainText.line(name, limit: 80)) }
            try await check(app)
            filter.app = app
        }
        filter.user = query.text("user")
        filter.tag = query.text("tag")
        filter.isActive = try query.flag("active")
        let limit = try query.number("limit", in: 1...Self.maxPageSize) ?? 100
        do {
            return try await devices.list(filter, after: query.text("after").map { AudienceCursor($0) }, limit: limit)
        } catch let fault as BadCursor {
            throw AdminFault(400, code: "bad_cursor", message: fault.description)
        }
    }

    private func check(_ app: AppID) async throws {
        guard let apps = await apps?(), !apps.contains(app) else { return }
        throw AdminFault.unknownApp(app.name)
    }

    private func find(_ body: [UInt8]) throws -> DeviceRegistration {
        let document = try document(body)
        do {
            let input = try DeviceInput(document, at: document.root)
            var bare = DeviceInput()
            (bare.app, bare.token) = (input.app, input.token)
            guard input == bare else { throw DeviceFault("send {\"app\":…,\"token\":…} and nothing else") }
            return try input.checked()
        } catch {
            throw AdminFault.badRequest("\(error)")
        }
    }

    private func reason(_ body: [UInt8]) throws(AdminFault) -> String {
        let rule = "send {\"reason\":…}, 1 to \(Self.maxReasonLength) bytes without control characters"
        let document = try document(body)
        var reason: String?
        for member in document.members(document.root) {
            guard document.isString(member.key, equalTo: "reason") else {
                let key = PlainText.line(document.string(member.key) ?? "", limit: 60)
                throw .badRequest("there is no key \"\(key)\" here; \(rule)")
            }
            reason = document.string(member.value)
        }
        guard let reason, (1...Self.maxReasonLength).contains(reason.utf8.count),
            !ControlCharacters.occur(in: reason.utf8)
        else { throw .badRequest(rule) }
        return reason
    }

    private func document(_ body: [UInt8]) throws(AdminFault) -> JSONDocument {
        do {
            let document = try JSONDocument(body, depthLimit: 8)
            if let key = document.repeatedKey() {
                throw AdminFault.badRequest(
                    "the key \"\(PlainText.line(document.string(key) ?? "", limit: 60))\" is given twice")
            }
            return document
        } catch let fault as AdminFault {
            throw fault
        } catch {
            throw .badRequest("the body is not JSON: \(error)")
        }
    }

    // MARK: Registration

    /// Registers one device, or the devices in `{"devices":[…]}`. Each device of a list has its own result; a fault of
    /// a single device is the error of the request.
    private func register(_ request: AdminRequest) async throws -> any Encodable & Sendable {
        let isTrial = try request.query.flag("dry_run") ?? false
        let document = try document(request.body)
        guard let list = document.value("devices", in: document.root) else {
            let answer = try await register([document.root], of: document, isTrial: isTrial)[0]
            if let fault = answer.error { throw fault }
            return answer
        }
        guard document.kind(list) == .array, document.members(document.root).reduce(0, { count, _ in count + 1 }) == 1
        else { throw AdminFault.badRequest("send {\"devices\":[…]} and nothing else, or one device") }
        let elements = Array(document.elements(list))
        guard (1...Self.maxRegistrations).contains(elements.count) else {
            throw AdminFault.badRequest(
                "there are \(elements.count) devices; 1 to \(Self.maxRegistrations) are allowed in a request")
        }
        return RegistrationListAnswer(devices: try await register(elements, of: document, isTrial: isTrial))
    }

    private func register(
        _ elements: [JSONDocument.Position], of document: JSONDocument, isTrial: Bool
    ) async throws -> [RegistrationAnswer] {
        let known = await apps?()
        var answers: [RegistrationAnswer?] = []
        var taken: [DeviceRegistration] = []
        for element in elements {
            do {
                let device = try DeviceInput(document, at: element).checked()
                if let known, !known.contains(device.app) {
                    answers.append(RegistrationAnswer(refused: .unknownApp(device.app.name)))
                } else {
                    taken.append(device)
                    answers.append(nil)
                }
            } catch {
                answers.append(RegistrationAnswer(refused: .badRequest(error.description)))
            }
        }
        let done = isTrial ? try await preview(taken) : taken.isEmpty ? [] : try await devices.register(taken)
        guard done.count == taken.count else {
            throw AdminFault(
                500, code: "internal", message: "the registry returned \(done.count) results for \(taken.count) devices"
            )
        }
        var next = done.makeIterator()
        return answers.map { answer in answer ?? RegistrationAnswer(next.next()!) }
    }

    /// Returns the results that a registration would have, without registering anything.
    private func preview(_ registrations: [DeviceRegistration]) async throws -> [RegisteredDevice] {
        var result: [RegisteredDevice] = []
        var seen: Set<DeviceID> = []
        for registration in registrations {
            let id = identities.device(of: registration.app, token: registration.token)
            let isFirst = seen.insert(id).inserted
            let device = try await devices.device(id)
            let change: RegisteredDevice.Change =
                switch device?.isActive {
                case _ where !isFirst: .known
                case nil: .registered
                case true?: .known
                case false?: .reactivated
                }
            result.append(RegisteredDevice(id: id, change: change))
        }
        return result
    }
}
