"""From a packet to placed work-groups; the loop of a device."""
