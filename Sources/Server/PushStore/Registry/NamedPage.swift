import PushModel

/// Pages of audiences that name their devices or tokens, which are the same in all engines. A page contains at most `size`
/// names.
extension DeviceWriter {
    func page(
        ofDevices all: [DeviceID], _ app: AppID, _ kind: AddressKind, _ wording: Wording?, _ cursor: AudienceCursor?,
        _ size: Int
    ) async throws -> AudiencePage {
        let devices = named.devices(all)
        let range = try AudienceCursor.range(after: cursor, in: devices.count, size: size)
        let stored = try await stored(devices[range])
        var page = NamedPage()
        for id in devices[range] {
            guard let device = stored[id], device.app == app.name else {
                page.unknown.append(id)
                continue
            }
            guard device.isActive, let addressed = device.addressed(in: wording) else {
                page.inactive.append(id)
                continue
            }
            page.add(addressed, isOfOtherKind: device.isOfOtherKind(than: kind))
        }
        if range.upperBound == devices.count { named.forget(devices: devices) }
        return page.ended(at: range.upperBound, of: devices.count)
    }

    /// The registry need not know the tokens. Which of them are not for alerts is in memory; their locales are not, and
    /// are read for a message that has some.
    func page(
        ofTokens all: [Address], _ app: AppID, _ kind: AddressKind, _ wording: Wording?, _ cursor: AudienceCursor?,
        _ size: Int
    ) async throws -> AudiencePage {
        let tokens = named.tokens(all)
        let range = try AudienceCursor.range(after: cursor, in: tokens.count, size: size)
        let ids = tokens[range].map { identities.device(of: app, token: $0) }
        let stored = kind == .alert && wording == nil ? [:] : try await stored(ids[...])
        var page = NamedPage()
        for (id, token) in zip(ids, tokens[range]) {
            let variant = wording?.variant(locale: stored[id]?.locale, user: nil) ?? 0
            let device = AudiencePage.Device(id: id, token: token, variant: variant)
            if gone.contains(device.id) {
                page.inactive.append(device.id)
            } else if kind == .alert {
                page.add(device, isOfOtherKind: others.contains(device.id))
            } else {
                page.add(device, isOfOtherKind: stored[device.id]?.isOfOtherKind(than: kind) ?? false)
            }
        }
        if range.upperBound == tokens.count { named.forget(tokens: tokens) }
        return page.ended(at: range.upperBound, of: tokens.count)
    }

    private func stored(_ ids: ArraySlice<DeviceID>) async throws -> [DeviceID: Device] {
        Dictionary(try await find(Array(ids)).map { ($0.deviceId, $0) }) { one, _ in one }
    }
}

private struct NamedPage {
    var devices: [AudiencePage.Device] = []
    var inactive: [DeviceID] = []
    var unknown: [DeviceID] = []
    var ofOtherKinds: [AudiencePage.Device] = []

    mutating func add(_ device: AudiencePage.Device, isOfOtherKind: Bool) {
        if isOfOtherKind { ofOtherKinds.append(device) } else { devices.append(device) }
    }

    func ended(at end: Int, of count: Int) -> AudiencePage {
        AudiencePage(
            devices: devices, inactive: inactive, unknown: unknown, ofOtherKinds: ofOtherKinds,
            next: end < count ? AudienceCursor(row: Int64(end)) : nil)
    }
}

extension Device {
    /// A device whose kind nobody has stated may be of any.
    fileprivate func isOfOtherKind(than kind: AddressKind) -> Bool { place.kind.map { $0 != kind } ?? false }
}

extension AudienceCursor {
    fileprivate static func range(after cursor: AudienceCursor?, in count: Int, size: Int) throws -> Range<Int> {
        let start = try cursor?.index(within: count) ?? 0
        return start..<min(start + size, count)
    }
}
