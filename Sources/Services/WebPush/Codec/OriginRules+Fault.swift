import PushGateways
import PushModel
import PushWire

extension OriginRules {
    /// Returns why an endpoint of this origin is not taken; nil if it is. A name is looked up only when something is sent.
    func fault(of origin: Origin) -> AddressFault? {
        guard allow(origin) else {
            return AddressFault("has an endpoint at a host that is not in the setting origins of the app")
        }
        if let address = IPAddress(origin.host), origin != endpoint,
            !AddressCheck(exceptions: privateNetworks).allows(address)
        {
            return AddressFault("has an endpoint in a private network, which is not in private_networks of the app")
        }
        return nil
    }
}
