/// The addresses besides that of the app itself.
extension RegistrarMachine {
    /// The maximum number of these addresses, as the server allows an installation 64 of all kinds.
    static let maxAddresses = 63

    /// Takes a token that the system gave to the app for a purpose.
    ///
    /// - Returns: The actions; nil if there are too many addresses.
    mutating func wanted(_ token: PushToken, for purpose: TokenPurpose, now: Duration, wall: Int64) -> [Action]? {
        var addresses = memory.addresses ?? []
        if let index = addresses.firstIndex(where: { $0.purpose == purpose }) {
            guard addresses[index].token != token else { return proceed(now: now, wall: wall) }
            addresses[index].token = token
        } else {
            guard addresses.count < Self.maxAddresses else { return nil }
            addresses.append(.init(purpose: purpose, token: token))
        }
        keep(addresses)
        return [.save(memory)] + proceed(now: now, wall: wall)
    }

    /// Takes the wish that the server forgets the address of a purpose, for example because an activity has ended.
    mutating func removalWanted(of purpose: TokenPurpose, now: Duration, wall: Int64) -> [Action] {
        guard let address = memory.addresses?.first(where: { $0.purpose == purpose }) else { return [] }
        keep((memory.addresses ?? []).filter { $0.purpose != purpose })
        removeLater(address.tokens)
        return [.save(memory)] + proceed(now: now, wall: wall)
    }

    /// The next registration of such an address; nil if the server has all of them.
    ///
    /// - Parameter isCompared: Whether the profile must be that of the last registration.
    func nextAddress(_ profile: DeviceProfile, comparing isCompared: Bool, wall: Int64) -> Operation? {
        let address = memory.addresses?.first { address in
            guard address.refused != address.token else { return false }
            // Another token may have replaced this one, although the answer was lost.
            guard let registered = address.registered, registered.token == address.token,
                (address.attempted ?? address.token) == address.token, !isCompared || registered.profile == profile
            else { return true }
            return Self.isOld(registered.at, wall: wall)
        }
        guard let address else { return nil }
        let former = [address.registered?.token, address.attempted].compactMap { $0 }.first { $0 != address.token }
        return .registerAddress(address.purpose, address.token, profile, replaces: former)
    }

    mutating func registered(_ purpose: TokenPurpose, with token: PushToken, profile: DeviceProfile, wall: Int64) {
        change(purpose) { address in
            address.registered = .init(token: token, profile: profile, at: wall)
            address.attempted = nil
        }
    }

    /// Remembers a token whose registration is sent. One of before whose answer was lost is removed.
    mutating func attempted(_ purpose: TokenPurpose, with token: PushToken) {
        if let lost = memory.addresses?.first(where: { $0.purpose == purpose })?.attempted, lost != token {
            removeLater([lost])
        }
        change(purpose) { $0.attempted = token }
    }

    /// Notes that the server does not have a token any more.
    mutating func forgetAddress(_ token: PushToken) {
        keep(
            (memory.addresses ?? []).map { address in
                var address = address
                if address.registered?.token == token { address.registered = nil }
                if address.attempted == token { address.attempted = nil }
                return address
            })
    }

    /// Remembers that the server refuses an address, which would block what is behind it. Another token is tried.
    mutating func refused(_ purpose: TokenPurpose, with token: PushToken) {
        change(purpose) { address in
            address.refused = token
            address.attempted = nil
        }
    }

    private mutating func change(
        _ purpose: TokenPurpose, by body: (inout RegistrarMemory.OtherAddress) -> Void
    ) {
        var addresses = memory.addresses ?? []
        guard let index = addresses.firstIndex(where: { $0.purpose == purpose }) else {
            // It was removed meanwhile, and the removal follows.
            return
        }
        body(&addresses[index])
        keep(addresses)
    }
}

extension RegistrarMemory.OtherAddress {
    /// The tokens that the server may have, each once.
    var tokens: [PushToken] { Set([token, registered?.token, attempted].compactMap { $0 }).sorted { $0.hex < $1.hex } }
}
